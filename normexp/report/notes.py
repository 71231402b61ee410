"""The sentences under a figure or table: nothing is left out of a number without being named here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from normexp.report.select import Arm, Run, Selection


def notes(selection: Selection) -> list[str]:
    """Return all notes of a report, in a fixed order; an empty list where there is nothing to say."""
    topics = (_data, _mixed_data, _divergences, _unfinished, _duplicates, _unreadable)
    return [note for topic in topics for note in topic(selection)]


def _data(selection: Selection) -> list[str]:
    """Name what is special about the data (a lossy copy is not the published data set)."""
    found = {(arm.dataset, run.note) for arm in selection.arms for run in _runs(arm) if run.note}
    return [f"Data of {dataset}: {note}." for dataset, note in sorted(found)]


def _mixed_data(selection: Selection) -> list[str]:
    """Compare fingerprints: equal options and seed must have seen equal data, or the arms do not compare."""
    seen: dict[tuple[object, ...], set[str]] = {}
    for arm in selection.arms:
        for run in arm.runs:
            about = tuple(item for item in sorted(run.options.items()) if item[0].startswith("data"))
            sha256 = run.directory.environment.get("data", {}).get("sha256")
            seen.setdefault((arm.dataset, about, run.seed), set()).update([str(sha256)] if sha256 else [])
    names = sorted({str(key[0]) for key, found in seen.items() if len(found) > 1})
    return [f"Warning: not all runs on {name} saw the same data (sha256 differs)." for name in names]


def _divergences(selection: Selection) -> list[str]:
    named = [
        f"{arm.label} seed {run.seed} at step {run.status.get('step', '?')}"
        for arm in selection.arms
        for run in arm.runs
        if not run.converged
    ]
    return [f"Diverged (non-finite loss): {'; '.join(named)}."] if named else []


def _unfinished(selection: Selection) -> list[str]:
    named = [(arm, run) for arm in selection.arms for run in arm.unfinished]
    if not named:
        return []
    total = sum(len(arm.runs) + len(arm.unfinished) for arm in selection.arms)
    runs = "; ".join(f"{arm.label} seed {run.seed} ({_state(run)})" for arm, run in named)
    return [f"Not finished and in no number, {len(named)} of {total} runs: {runs}."]


def _state(run: Run) -> str:
    """Say how far an unfinished run is: `failed at step 120: out of memory`."""
    status, step, cause = (run.status.get(key) for key in ("status", "step", "cause"))
    at = "" if step is None else f" at step {step}"
    return f"{status}{at}" + (f": {' '.join(str(cause).split())}" if cause else "")


def _duplicates(selection: Selection) -> list[str]:
    label = {run.name: arm.label for arm in selection.arms for run in _runs(arm)}
    return [
        f"{label[kept.name]} seed {kept.seed} is there twice: {kept.name} counts, {left_out.name} does not."
        for kept, left_out in selection.duplicates
    ]


def _unreadable(selection: Selection) -> list[str]:
    lines = selection.unreadable
    return [f"Left out, {len(lines)} that cannot be read: {'; '.join(lines)}."] if lines else []


def _runs(arm: Arm) -> Iterable[Run]:
    return (*arm.runs, *arm.unfinished)


def unfinished_summary(selection: Selection) -> str:
    """Count the unfinished runs by status: `failed: 1, running: 2`."""
    counts = Counter(str(run.status["status"]) for arm in selection.arms for run in arm.unfinished)
    return ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
