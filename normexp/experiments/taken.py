"""Which runs of an experiment are another record's: frozen.json names them, since what it declares came after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath

from normexp.config.identity import IGNORED_KEYS
from normexp.config.text import amount
from normexp.records import RunDirectory, from_here, read_json, write_atomically
from normexp.records.merging import copy_run
from normexp.records.taken import TAKEN, taken_of, with_taken


def take(runs: Mapping[Path, RunDirectory], frozen: Path) -> None:
    """Copy every run to its place, whole or not at all.

    Args:
        runs: place -> run.
        frozen: frozen.json above the places, which is there: it says first of all where they are from. When a copy is
            stopped it names some that are not there, and do not count; they are forgotten before they are trained.
    """
    record = read_json(frozen)
    sources = {_name(place, frozen): _source(run.path).as_posix() for place, run in runs.items()}
    write_atomically(frozen, with_taken(record, taken_of(record, frozen) | sources))
    for place, run in runs.items():
        copy_run(run, place, IGNORED_KEYS)


def forget(places: Iterable[Path], frozen: Path) -> None:
    """Take out of frozen.json the runs that are trained where they are, and what is not there."""
    record, here = read_json(frozen), {_name(place, frozen) for place in places}
    left = {name: run for name, run in taken_of(record, frozen).items() if name not in here}
    if left != record.get(TAKEN, {}):
        write_atomically(frozen, with_taken(record, left))


def _name(place: Path, frozen: Path) -> str:
    return place.relative_to(frozen.parent).as_posix()


def _source(run: Path) -> PurePath:
    """Return a run's path as one writes it here; of one outside the current folder what is not of this machine."""
    path = from_here(run)
    parts = 6 if _is_of_experiment(path) else 3  # results/NAME/SCALE/runs/ARM/POINT; results/runs/NAME
    return PurePath(*path.parts[-parts:]) if path.is_absolute() else path


def taken_in_words(taken: Mapping[str, str]) -> Iterator[str]:
    """Yield `40 runs were taken from results/NAME/SCALE` for every place that runs were taken from."""
    for source, count in Counter(map(_above, taken.values())).items():
        yield f"{amount(count, 'run')} {'was' if count == 1 else 'were'} taken from {source}"


def _above(run: str) -> str:
    """Return the folder results/NAME/SCALE of a run of an experiment; of another run the folder that it lies in."""
    path = PurePath(run)
    return str(path.parents[2] if _is_of_experiment(path) else path.parent)


def _is_of_experiment(run: PurePath) -> bool:
    return run.parent.parent.name in ("runs", "select") and "=" in run.name
