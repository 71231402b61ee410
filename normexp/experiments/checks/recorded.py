"""Which columns the metrics.csv of runs will have, told by their configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from normexp.config import Config
from normexp.config.options import option
from normexp.evidence.curves import SECONDS_PER_STEP
from normexp.evidence.metrics import SCORES, with_errors


def recorded(configs: Sequence[Config]) -> list[str]:
    """Return the columns that metrics.csv will have in every one of these runs."""
    known = [list(_columns(config)) for config in configs]
    return [name for name in known[0] if all(name in names for names in known)]


def metrics(configs: Sequence[Config]) -> list[str]:
    """Return these, and what follows from the records besides."""
    timed = all(config.choices["study"] == "none" for config in configs)
    return [*with_errors(recorded(configs)), *([SECONDS_PER_STEP] if timed else [])]


def _columns(config: Config) -> Iterator[str]:
    if config.choices["study"] != "none":
        yield from option("study", config.choices["study"])["_metrics_"]
        return
    task = config["dataset"].get("task", option("dataset", config.choices["dataset"])["_task_"])
    score = SCORES.get(task, SCORES["classification"])
    for split in ("train", "validation", "test"):
        if split != "validation" or config["dataset"].get("validation", 1):
            yield from (f"{split}/loss", f"{split}/{score}")
