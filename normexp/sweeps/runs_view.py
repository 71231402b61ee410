"""What can be seen of runs that share no folder of claims: a sweep of this machine, or whatever lies in a folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from normexp.errors import UserError
from normexp.records import CONFIG, FINISHED, METRICS, RunDirectory, printable
from normexp.sweeps.last import is_swept, planned, trial_at
from normexp.sweeps.snapshot import Snapshot, WorkerView
from normexp.sweeps.status import state

HELD = "running"


class RunsView:
    """Looks at run directories again and again; finished ones are read once.

    Args:
        title: what they are of.
        runs: finds them anew; of a sweep also those that have not begun.
        names: what a sweep calls its runs; those of a planned sweep are going to be trained.
        goes_on: whether somebody will train what is left.
    """

    def __init__(
        self,
        title: str,
        runs: Callable[[], Iterable[RunDirectory]],
        names: Mapping[Path, str] | None = None,
        goes_on: Callable[[], bool] = lambda: False,
    ) -> None:
        self.title, self.runs, self.names, self.goes_on = title, runs, names, goes_on
        self.ahead = 0  # runs that are going to be trained and have no name yet
        self._finished: dict[Path, tuple[str, float]] = {}  # how a run ended, and its seconds
        self._left = True

    def snapshot(self) -> Snapshot:
        """Look now."""
        counts: Counter[str] = Counter()
        goes_on = self.goes_on()  # before the runs are looked at: whoever ends then has left none of them open
        left = "stopped" if self.names is None else "free"
        workers, failures = [], {}
        for run in self.runs():
            name, detail = self._state(run)
            counts["held" if name == HELD else name if name in (*FINISHED, "failed") else left] += 1
            if name == HELD:
                workers.append(_worker(run))
            elif name == "failed":
                failures[str(run.path)] = detail
        counts["free"] += self.ahead
        self._left = bool(workers) or (goes_on and counts["free"] > 0)
        seconds = [spent for _, spent in self._finished.values()]
        abandoned = counts["free"] > 0 and not self._left
        return Snapshot(counts, workers, failures, (len(seconds), sum(seconds)), abandoned)

    def is_ended(self) -> bool:
        return not self._left

    def directory(self, cell: str) -> RunDirectory:
        return RunDirectory(Path(cell))

    def name(self, cell: str) -> str:
        return (self.names or {}).get(Path(cell)) or Path(cell).name

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
    """Return how long the last attempt at a run has taken by the clock of its files; of one that ended, what it says.

    That is less, by the evaluations, and also right of a study, whose files are written at its end.
    """
    if name != HELD:
        return float(run.status.get("seconds", 0.0))
    try:
        return max(time.time() - (run.path / CONFIG).stat().st_mtime, 0.0)
    except OSError:
        return 0.0


class PlannedRuns(RunsView):
    """Looks at the sweep that a results folder remembers; a search adds runs to it, trial by trial."""

    def __init__(self, results: Path, names: Mapping[Path, str]) -> None:
        self.results = results
        super().__init__("", self._runs, names, lambda: is_swept(results))
        self._look()

    def snapshot(self) -> Snapshot:
        self._look()
        return super().snapshot()

    def _look(self) -> None:
        with suppress(UserError, OSError):  # it is written anew just now, or gone: what was known stays
            self.names = planned(self.results)
        number, trials, self.ahead = trial_at(self.results)
        self.title = f"{printable(self.results)}, last sweep" + (f", trial {number} of {trials}" if trials else "")

    def _runs(self) -> list[RunDirectory]:
        return [RunDirectory(run) for run in sorted(self.names or {})]
