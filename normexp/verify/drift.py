"""`normexp verify drift`: recorded runs are trained again, and what differs is put down to a cause."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from normexp.config import Config, compose
from normexp.config.allowed import check_count
from normexp.config.identity import PATH_KEYS
from normexp.config.options import said_by
from normexp.config.text import amount, override_text
from normexp.errors import Unavailable, UserError
from normexp.records import FINISHED, METRICS, TIMING, RunDirectory, find_runs, from_here, printable
from normexp.runs.place import check_data
from normexp.runs.run import check_complete, check_stale, run
from normexp.sweeps.prefetch import to_download
from normexp.verify.differences import Difference, differences
from normexp.verify.drift_table import add_row, read_table
from normexp.verify.environments import causes
from normexp.verify.records import OWN_CODE

Say = Callable[[str], None]
EQUAL, CLOSE, MOVED, LEFT = "equal bytes", "within tolerance", "moved", "left out"
TOLERANCE = 1e-3  # of the largest recorded value of a column


@dataclass(frozen=True)
class RetrainedRun:
    """A record, and what became of it when the same run was trained today.

    Args:
        worst: the number that differs most; None where all bytes are equal.
        why: the libraries, the processor or the arithmetic that differ; of one that is left out, the reason.
        commit: of the program that trained it again.
    """

    record: RunDirectory
    verdict: str
    worst: Difference | None = None
    why: str = ""
    commit: str = ""

    def __str__(self) -> str:
        text = "; ".join(str(part) for part in (self.worst, self.why) if part)
        return f"{self.verdict}: {printable(from_here(self.record.path))}{text and ': '}{printable(text)}"

    @property
    def row(self) -> dict[str, str]:
        """What a table of them holds of one."""
        worst = {name: str(value) for name, value in vars(self.worst).items()} if self.worst else {}
        return {"verdict": self.verdict, **worst, "why": self.why, "commit": self.commit}


def verify_drift(
    folders: Sequence[Path], given: Sequence[str], limit: int, seed: int | None, say: Say, table: Path | None = None
) -> int:
    """Train recorded runs again and compare; return 1 if one has moved.

    Args:
        folders: of records, results/NAME/SCALE each.
        given: overrides for where the data lie.
        limit: how many are trained again.
        seed: draws them from all records; without one they are the cheapest of every folder that ended well, by
            recorded seconds.
        table: a CSV file that gets a row per experiment and scale, beside those that it has.

    Raises: UserError where none could be trained.
    """
    check_count("verify drift: --limit", limit)
    if table:
        read_table(table)  # what is no such table is noticed before anything is trained
    counts: Counter[str] = Counter()
    for record in proposed(folders, seed):
        if counts.total() == limit:
            break
        again = trained_again(record, given)
        counts.update([again.verdict] if again.verdict != LEFT else [])
        say(str(again))
        if table:
            add_row(table, record, again.row)
    if not counts:
        raise UserError("verify drift: no record could be trained again")
    say(f"{amount(counts.total(), 'record')}: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}")
    return 1 if counts[MOVED] else 0


def trained_again(record: RunDirectory, given: Sequence[str]) -> RetrainedRun:
    try:
        config = as_recorded(record, given)
    except UserError as error:
        return RetrainedRun(record, LEFT, why=str(error))
    return drift(record, config)


def proposed(folders: Sequence[Path], seed: int | None) -> list[RunDirectory]:
    """Return the records in the order in which they are tried."""
    costs = [sorted(_costs(folder), key=lambda each: each[0]) for folder in folders]
    if seed is not None:
        runs = [record for folder in costs for _, record in folder]
        return random.Random(seed).sample(runs, len(runs))
    first = sorted((folder[0] for folder in costs if folder), key=lambda each: each[0])
    return [record for _, record in first]


def as_recorded(record: RunDirectory, given: Sequence[str]) -> Config:
    """Return the configuration of a record, for the threads that it was made with, on its device where there is one.

    Raises: UserError where it cannot be trained again: code of somebody's own, other defaults, other or missing data.
    """
    changes = record.config.get("_changes_") or {}
    if own := [key for key in OWN_CODE if key in changes]:
        raise UserError(f"{own[0]} names code of somebody's own")
    if said_by("study", record.config["_choices_"].get("study"), "_measures_time_"):
        raise UserError("it measured time, so no two runs are equal")
    check_complete(record)
    threads = {"threads": record.environment["threads"]} if "threads" in record.environment else {}
    device = {"device": _device_here(changes["device"])} if "device" in changes else {}
    left = (*PATH_KEYS, "results_dir")
    settings = {**changes, **threads, **device}.items()
    words = [f"{key}={override_text(value)}" for key, value in settings if key not in left]
    if missing := [key for key in PATH_KEYS if key in changes and not _of(key, given)]:
        raise UserError(f"it was made from a file; give {missing[0]}=PATH")
    config = _with_files(record, words, [_of(key, given) for key in PATH_KEYS if key in changes])
    check_stale(record, config)
    if names := to_download([config]):
        raise UserError(f"dataset={names[0]} is not on this machine")
    return config


def _device_here(name: str) -> str:
    """Return a record's device, or the best one of a machine that has none such: another rounds otherwise, no more."""
    from normexp.training.machine.hardware import choose_device

    try:
        return choose_device(name).type
    except Unavailable:
        return "auto"


def _of(key: str, given: Iterable[str]) -> list[str]:
    return [word for word in given if word.partition("=")[0] == key]


def _with_files(record: RunDirectory, words: Sequence[str], files: Sequence[Sequence[str]]) -> Config:
    """Return the configuration with the first of the files that hold the record's data. Raises UserError without."""
    *wrong, last = product(*files)
    for chosen in wrong:
        with contextlib.suppress(UserError):
            return _checked(record, compose([*words, *chosen]))
    return _checked(record, compose([*words, *last]))


def _checked(record: RunDirectory, config: Config) -> Config:
    if config.files:
        check_data(record, config)
    return config


def drift(record: RunDirectory, config: Config) -> RetrainedRun:
    """Train once more and compare."""
    with tempfile.TemporaryDirectory(prefix="normexp-verify-") as folder:
        again = run(config, path=Path(folder) / "again")
        commit = str(again.environment.get("commit") or "")
        names = [name for name in record.names() if name.endswith(".csv") and name != TIMING]
        if all(again.has(name) and again.read(name) == record.read(name) for name in names):
            return RetrainedRun(record, EQUAL, commit=commit)
        worst = max(
            (each for name in names for each in differences(record.rows(name), again.rows(name))),
            key=lambda each: each.relative,
            default=Difference(METRICS, "", "one form", "another", 0.0),
        )
        why = causes(record.environment, again.environment)
    return RetrainedRun(record, CLOSE if worst.relative <= TOLERANCE else MOVED, worst, why, commit)


def _costs(folder: Path) -> Iterator[tuple[tuple[bool, float], RunDirectory]]:
    """Yield ((whether it diverged, seconds that it took), record) of every finished run that can be read."""
    for record in find_runs([folder]):
        try:
            status = record.status
        except UserError:
            continue
        if status["status"] in FINISHED:
            yield (status["status"] != "done", float(status.get("seconds") or 0.0)), record
