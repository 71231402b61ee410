"""`normexp verify drift`: recorded runs are trained again, and what differs is put down to a cause."""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from normexp.config import Config, compose
from normexp.config.identity import PATH_KEYS
from normexp.config.options import option, options
from normexp.config.text import override_text
from normexp.errors import UserError
from normexp.experiments.verify.environments import causes
from normexp.experiments.verify.records import OWN_CODE
from normexp.records import FINISHED, METRICS, TIMING, RunDirectory, find_runs, printable
from normexp.runs.place import check_data
from normexp.runs.run import check_complete, check_stale, run
from normexp.sweeps.prefetch import to_download

Say = Callable[[str], None]
Row = dict[str, str]
EQUAL, CLOSE, MOVED = "equal bytes", "within tolerance", "moved"
TOLERANCE = 1e-3  # of the largest recorded value of a column
ROUNDING = 1e-9  # differences below are of sums in another order, whatever the column holds


@dataclass(frozen=True)
class Difference:
    """Where one number differs most from the recorded one.

    Args:
        relative: the difference over the largest recorded value of the column; infinite where it is no number.
    """

    column: str
    step: str
    before: str
    now: str
    relative: float

    def __str__(self) -> str:
        size = f", {self.relative:.1e} of the column's largest" if math.isfinite(self.relative) else ""
        return f"{self.column} at step {self.step} was {self.before}, is {self.now}{size}"


def verify_drift(folders: Sequence[Path], given: Sequence[str], limit: int, seed: int | None, say: Say) -> int:
    """Train recorded runs again and compare; return 1 if one has moved.

    Args:
        folders: of records, results/NAME/SCALE each.
        given: overrides for where the data lie.
        limit: how many are trained again.
        seed: draws them from all records; without one they are the cheapest of every folder, by recorded seconds.
    """
    if limit < 1:
        raise UserError(f"verify drift: --limit {limit}: must be an integer in [1, inf)")
    counts: Counter[str] = Counter()
    for record in proposed(folders, seed):
        if sum(counts.values()) == limit:
            break
        try:
            config = as_recorded(record, given)
        except UserError as error:
            say(f"left out: {printable(str(record.path))}: {error}")
            continue
        verdict, text = drift(record, config)
        counts[verdict] += 1
        say(f"{verdict}: {printable(f'{record.path}{text}')}")
    if not counts:
        raise UserError("verify drift: no record could be trained again")
    say(f"{sum(counts.values())} records: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}")
    return 1 if counts[MOVED] else 0


def proposed(folders: Sequence[Path], seed: int | None) -> list[RunDirectory]:
    """Return the records in the order in which they are tried."""
    costs = [sorted(_costs(folder), key=lambda each: each[0]) for folder in folders]
    if seed is not None:
        runs = [record for folder in costs for _, record in folder]
        return random.Random(seed).sample(runs, len(runs))
    first = sorted((folder[0] for folder in costs if folder), key=lambda each: each[0])
    return [record for _, record in first]


def as_recorded(record: RunDirectory, given: Sequence[str]) -> Config:
    """Return the configuration of a record, for the threads that it was made with.

    Raises: UserError where it cannot be trained again: code of somebody's own, other defaults, other or missing data.
    """
    changes = record.config.get("_changes_") or {}
    if own := [key for key in OWN_CODE if key in changes]:
        raise UserError(f"{own[0]} names code of somebody's own")
    if _measures_time(record.config["_choices_"].get("study")):
        raise UserError("it measured time, so no two runs are equal")
    check_complete(record)
    threads = {"threads": record.environment["threads"]} if "threads" in record.environment else {}
    kept = {key: value for key, value in {**changes, **threads}.items() if key not in (*PATH_KEYS, "results_dir")}
    files = [word for word in given if word.partition("=")[0] in changes]
    config = compose([*(f"{key}={override_text(value)}" for key, value in kept.items()), *files])
    check_stale(record, config)
    if missing := [key for key in PATH_KEYS if key in changes and key not in config.files]:
        raise UserError(f"it was made from a file; give {missing[0]}=PATH")
    if names := to_download([config]):
        raise UserError(f"dataset={names[0]} is not on this machine")
    if config.files:
        check_data(record, config)
    return config


def _measures_time(study: str | None) -> bool:
    return study in options("study") and bool(option("study", study).get("_measures_time_"))


def drift(record: RunDirectory, config: Config) -> tuple[str, str]:
    """Train once more; return the verdict, and what to say of it."""
    with tempfile.TemporaryDirectory(prefix="normexp-verify-") as folder:
        again = run(config, path=Path(folder) / "again")
        names = [name for name in record.names() if name.endswith(".csv") and name != TIMING]
        if all(again.has(name) and again.read(name) == record.read(name) for name in names):
            return EQUAL, ""
        worst = max(
            (each for name in names for each in differences(record.rows(name), again.rows(name))),
            key=lambda each: each.relative,
            default=Difference(METRICS, "?", "one form", "another", 0.0),
        )
        why = causes(record.environment, again.environment)
    return (CLOSE if worst.relative <= TOLERANCE else MOVED), f": {worst}; {why}"


def differences(before: Sequence[Row], now: Sequence[Row]) -> Iterator[Difference]:
    """Yield every number that is another one now; other rows or columns count as infinitely far."""
    if len(before) != len(now):
        yield Difference("rows", "the last", str(len(before)), str(len(now)), math.inf)
    for column in before[0] if before else ():
        largest = max((abs(value) for value in _numbers(row.get(column) for row in before)), default=0.0)
        for old, new in zip(before, now, strict=False):
            was, is_now = old.get(column) or "", new.get(column) or ""
            if was != is_now:
                yield Difference(column, old.get("step", "?"), was, is_now, _relative(was, is_now, largest))


def _relative(before: str, now: str, largest: float) -> float:
    values = list(_numbers((before, now)))
    if len(values) < 2:
        return math.inf
    distance = abs(values[0] - values[1])
    return 0.0 if distance <= ROUNDING else distance / largest if largest else math.inf


def _numbers(texts: Iterable[str | None]) -> Iterator[float]:
    """Yield the finite numbers among the texts."""
    for text in texts:
        try:
            value = float(text or "")
        except ValueError:
            continue
        if math.isfinite(value):
            yield value


def _costs(folder: Path) -> Iterator[tuple[float, RunDirectory]]:
    """Yield (seconds that it took, record) of every finished run that can be read."""
    for record in find_runs([folder]):
        try:
            status = record.status
        except UserError:
            continue
        if status["status"] in FINISHED:
            yield float(status.get("seconds") or 0.0), record
