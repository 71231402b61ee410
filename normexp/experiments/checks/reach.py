"""What an experiment looks at and no run of it gets to: a step beyond the last, a trend over one value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from normexp.config import Config
from normexp.evidence.claims.estimands import Trend
from normexp.evidence.reading import step_of
from normexp.evidence.scales import PAPER, SMOKE
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment

Place = tuple[str | int, ...]


def check_reach(experiment: Experiment, configs: Sequence[Config], document: Document) -> None:
    """Raise UserError for a step or a trend that is not there; a preview is short on purpose, and shows what it has."""
    if experiment.scale == SMOKE:
        return
    last = longest(configs)
    for place, spec in _looks(experiment):
        at = str(getattr(spec, "at", ""))
        if last is not None and (step_of(at) or 0) > last:
            raise document.error(f"{at} is beyond the last one of every run, {last}", *place, "at")
    for i, claim in enumerate(experiment.claims):
        if isinstance(claim, Trend) and len(experiment.grid[claim.axis]) == 1:
            raise document.error(f"{claim.axis} has one value, so there is no trend", "claims", i, "axis")


def longest(configs: Sequence[Config]) -> int | None:
    """Return the last step of the longest run; None where that depends on the data, or on a study."""
    steps = [config["steps"] if config.choices["study"] == "none" else None for config in configs]
    return None if None in steps else max(filter(None, steps))


def _looks(experiment: Experiment) -> Iterator[tuple[Place, object]]:
    """Yield all that reads a number off the curves; printed numbers are judged at the paper's own scale alone."""
    table = experiment.table
    yield from [] if table.looks else [(("table",), table)]
    yield from ((("table", "columns", i), look) for i, look in enumerate(table.looks))
    if experiment.scale == PAPER:
        yield from ((("published", i), entry) for i, entry in enumerate(experiment.published))
    yield from ((("figures", i), figure) for i, figure in enumerate(experiment.figures))
    yield from ((("claims", i), claim) for i, claim in enumerate(experiment.claims))
