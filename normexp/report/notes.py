"""The sentences under a figure or table: nothing is left out of a number without being named here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from normexp.config.identity import PATH_KEYS
from normexp.records import IGNORED, OWN_CODE, STATUS, UNREACHED, RunDirectory
from normexp.report.frames.frame import Frame
from normexp.report.frames.labels import PLACES
from normexp.report.frames.options import NOTE
from normexp.report.frames.record import Record
from normexp.sweeps.status import state

MOST_NAMES = 20  # runs without a record that are named one by one


def notes(frame: Frame) -> list[str]:
    """Return all notes of a report, in a fixed order; an empty list where there is nothing to say."""
    records = [record for record in frame.records if not record.unreadable and record.state != "new"]
    topics = (_data, _mixed_data, _mixed_code, _other_schemes, _divergences, _unfinished)
    return [*(note for topic in topics for note in topic(records)), *frame.left_out]


def without_record(runs: Mapping[Path, str]) -> list[str]:
    """Name the runs of a sweep that have left no record: nobody got to them, or they failed before that.

    Args:
        runs: run directory -> what the sweep calls it.
    """
    named = [name for run, name in runs.items() if not RunDirectory(run).has(STATUS)]
    more = [f"{len(named) - MOST_NAMES} more"] if len(named) > MOST_NAMES else []
    listed = "; ".join([*named[:MOST_NAMES], *more])
    note = f"Without a record and in no number, {len(named)} of the {len(runs)} runs of the sweep: {listed}."
    return [note] if named else []


def _data(records: Sequence[Record]) -> list[str]:
    """Name what is special about the data (a lossy copy is not the published data set)."""
    found = {(_data_set(record), note) for record in records if (note := record.value(NOTE))}
    return [f"Data of {dataset}: {note}." for dataset, note in sorted(found)]


def _data_set(record: Record) -> str:
    """Return the data set of a run, with the file that somebody named: `csv (prices.csv)`."""
    named = [value for key in PATH_KEYS if (value := record.value(key)) not in (None, "null")]
    return " ".join([str(record.value("dataset")), *(f"({value})" for value in named)])


def _mixed_data(records: Sequence[Record]) -> list[str]:
    """Compare fingerprints: equal options and seed must have seen equal data, or the arms do not compare."""
    seen: dict[tuple[object, ...], set[str]] = {}
    for record in records:
        if record.finished and record.options:
            about = tuple(item for item in sorted(record.options.items()) if item[0].startswith("data"))
            sha256 = record.directory.data.get("sha256")
            seen.setdefault((record.value("dataset"), about, record.seed), set()).update(
                [str(sha256)] if sha256 else []
            )
    names = sorted({str(key[0]) for key, found in seen.items() if len(found) > 1})
    return [f"Warning: not all runs on {name} saw the same data (sha256 differs)." for name in names]


def _mixed_code(records: Sequence[Record]) -> list[str]:
    """Compare the files of the user's own parts: one that was edited is another part under the same name."""
    seen: dict[str, set[str]] = {}
    for record in records:
        last = record.directory.environment if record.finished else {}
        for attempt in (last, *last.get("continued", [])):
            for module, sha256 in attempt.get(OWN_CODE, {}).items():
                seen.setdefault(module, set()).add(sha256)
    edited = sorted(module for module, found in seen.items() if len(found) > 1)
    return [
        f"Warning: {module} was edited between these runs (sha256 differs); --force trains again." for module in edited
    ]


def _other_schemes(records: Sequence[Record]) -> list[str]:
    """Name the schemes that are another one under their name: without a part in the network, or in too short a run."""
    finished = [record.directory.environment for record in records if record.finished]
    said = {environment.get(key) for environment in finished for key in (IGNORED, UNREACHED)}
    return [f"Warning: {sentence}." for sentence in sorted(filter(None, said))]


def _divergences(records: Sequence[Record]) -> list[str]:
    name, ended = _names(records), [record for record in records if record.state == "diverged"]
    named = [f"{name(record)} at step {record.status.get('step', '?')}" for record in ended]
    return [f"Diverged (non-finite loss): {'; '.join(named)}."] if named else []


def _unfinished(records: Sequence[Record]) -> list[str]:
    name = _names(records)
    named = [f"{name(record)} ({_state(record)})" for record in records if not record.finished]
    return [f"Not finished and in no number, {len(named)} of {len(records)} runs: {'; '.join(named)}."] if named else []


def _names(records: Sequence[Record]) -> Callable[[Record], str]:
    """Return what names a run among others: by its place, too, where the arm alone may name several."""
    varying = {key for key in ("experiment", "scale", *PLACES) if len({record.value(key) for record in records}) > 1}

    def name(record: Record) -> str:
        arm, place = (record.cell, ("experiment", "scale")) if record.experiment else (record.arm, PLACES)
        where = [str(record.value(key)) for key in place if key in varying]
        return f"{', '.join([str(arm), *where])} seed {record.seed}"

    return name


def _state(record: Record) -> str:
    """Say how far an unfinished run is: `failed at step 120: out of memory`; `stopped` where nobody trains it."""
    step, cause = (record.status.get(key) for key in ("step", "cause"))
    status, _ = state(record.directory)
    at = "" if step is None else f" at step {step}"
    return f"{status}{at}" + (f": {' '.join(str(cause).split())}" if cause else "")
