"""Which runs of an experiment are another record's: frozen.json names them, since what it declares came after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from normexp.config.identity import IGNORED_KEYS
from normexp.config.text import amount
from normexp.records import RunDirectory, from_here, read_json, write_atomically
from normexp.records.merging import copy_run
from normexp.records.plain import plain_json

TAKEN = "taken"
_LONG = ("sha256", "declared")


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
    names = {_name(place, frozen): from_here(run.path).as_posix() for place, run in runs.items()}
    _write(frozen, record, {**record.get(TAKEN, {}), **names})


def forget(places: Iterable[Path], frozen: Path) -> None:
    """Take out of frozen.json the runs that were trained again where they are, and so came after what it declares."""
    record = read_json(frozen)
    taken, again = record.get(TAKEN, {}), {_name(place, frozen) for place in places}
    if left_out := taken.keys() & again:
        _write(frozen, record, {name: run for name, run in taken.items() if name not in left_out})


def _name(place: Path, frozen: Path) -> str:
    return place.relative_to(frozen.parent).as_posix()


def _write(frozen: Path, record: Mapping[str, Any], taken: Mapping[str, str]) -> None:
    """Write the record with what was taken, if anything, ahead of its long part."""
    short = {key: value for key, value in record.items() if key not in (TAKEN, *_LONG)}
    named = {TAKEN: taken} if taken else {}
    write_atomically(frozen, plain_json({**short, **named, **{key: record[key] for key in _LONG}}))


def taken_in_words(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield `40 runs were taken from results/NAME/SCALE` for every place that runs were taken from."""
    for source, count in Counter(_above(run) for run in record.get(TAKEN, {}).values()).items():
        yield f"{amount(count, 'run')} {'was' if count == 1 else 'were'} taken from {source}"


def _above(run: str) -> str:
    """Return the folder results/NAME/SCALE of a run of an experiment; of another run the folder that it lies in."""
    parts = PurePath(run).parts
    kinds = [i for i, part in enumerate(parts) if part in ("runs", "select")]
    return str(PurePath(*parts[: kinds[-1]] if kinds else parts[:-1]))
