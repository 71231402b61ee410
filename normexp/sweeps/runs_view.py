"""What can be seen of runs that share no folder of claims: a sweep of this machine, or whatever lies in a folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from normexp.errors import UserError
from normexp.records import ENVIRONMENT, FINISHED, METRICS, STATUS, RunDirectory, printable
from normexp.sweeps.snapshot import Snapshot, WorkerView
from normexp.sweeps.status import state

HELD = "running"


class RunsView:
    """Looks at run directories again and again; finished ones are read once.

    Args:
        title: what they are of.
        runs: finds them anew; of a sweep also those that have not begun.
        is_planned: whether those that are open are going to be trained.
    """

    def __init__(self, title: str, runs: Callable[[], Iterable[RunDirectory]], is_planned: bool) -> None:
        self.title, self.runs, self.is_planned = title, runs, is_planned
        self._finished: dict[Path, tuple[str, float]] = {}  # how a run ended, and its seconds
        self._left = True

    def snapshot(self) -> Snapshot:
        """Look now."""
        counts: Counter[str] = Counter()
        left = "free" if self.is_planned else "stopped"
        workers, failures = [], {}
        for run in self.runs():
            name, detail = self._state(run)
            counts["held" if name == HELD else name if name in (*FINISHED, "failed") else left] += 1
            if name == HELD:
                workers.append(_worker(run))
            elif name == "failed":
                failures[str(run.path)] = detail
        self._left = bool(workers) or counts["free"] > 0
        seconds = [spent for _, spent in self._finished.values()]
        return Snapshot(counts, workers, failures, (len(seconds), sum(seconds)))

    def is_ended(self) -> bool:
        return not self._left

    def directory(self, cell: str) -> RunDirectory:
        return RunDirectory(Path(cell))

    def _state(self, run: RunDirectory) -> tuple[str, str]:
        if run.path not in self._finished:
            name, detail = state(run)
            if name not in FINISHED:
                return name, detail
            self._finished[run.path] = (name, _seconds(run, name))
        return self._finished[run.path][0], ""


def _worker(run: RunDirectory) -> WorkerView:
    """Return a running run as one that works at it; its last evaluation tells how far it is."""
    spent = _seconds(run, HELD)
    try:
        rows, steps = run.rows(METRICS), int(run.status.get("steps", 0))
        step = int(rows[-1]["step"]) if rows else 0
    except (UserError, ValueError, KeyError):  # being written
        step = steps = 0
    return WorkerView("", "", "", spent, 0, 0.0, str(run.path), spent, step, steps, silent=False)


def _seconds(run: RunDirectory, name: str) -> float:
    """Return how long the last attempt at a run took, or has taken, by the clock of the files; 0 in an archive."""
    try:
        begun = (run.path / ENVIRONMENT).stat().st_mtime
        until = time.time() if name == HELD else (run.path / STATUS).stat().st_mtime
        return max(until - begun, 0.0)
    except OSError:
        return 0.0


def planned_runs(results: Path, runs: Iterable[Path]) -> RunsView:
    """Return the view of the sweep that a results folder remembers."""
    found = [RunDirectory(run) for run in runs]
    return RunsView(f"{printable(results)}, last sweep", lambda: found, is_planned=True)
