"""Which runs of an experiment are another record's: frozen.json names them, since what it declares came after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from normexp.config.identity import IGNORED_KEYS
from normexp.config.text import amount
from normexp.records import RunDirectory, from_here, read_json, write_atomically
from normexp.records.merging import copy_run
from normexp.records.plain import plain_json

TAKEN = "taken"


def take(runs: Mapping[Path, RunDirectory], frozen: Path) -> None:
    """Copy every run to its place, whole or not at all.

    Args:
        runs: place -> run.
        frozen: frozen.json above the places, which is there: it says first where they are from.
    """
    _note(runs, frozen)
    for place, run in runs.items():
        copy_run(run, place, IGNORED_KEYS)


def _note(runs: Mapping[Path, RunDirectory], frozen: Path) -> None:
    record = read_json(frozen)
    names = {place.relative_to(frozen.parent).as_posix(): from_here(run.path).as_posix() for place, run in runs.items()}
    declared = {key: record.pop(key) for key in ("sha256", "declared")}  # the long part stays the last one
    write_atomically(frozen, plain_json({**record, TAKEN: {**record.get(TAKEN, {}), **names}, **declared}))


def taken_in_words(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield `40 runs were taken from results/NAME/SCALE` for every place that runs were taken from."""
    for source, count in Counter(_above(run) for run in record.get(TAKEN, {}).values()).items():
        yield f"{amount(count, 'run')} {'was' if count == 1 else 'were'} taken from {source}"


def _above(run: str) -> str:
    """Return the folder results/NAME/SCALE of a run of an experiment; of another run the folder that it lies in."""
    parts = PurePath(run).parts
    kinds = [i for i, part in enumerate(parts) if part in ("runs", "select")]
    return str(PurePath(*parts[: kinds[-1]] if kinds else parts[:-1]))
