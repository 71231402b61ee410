"""What can be seen of a sweep at one moment: how its cells stand, who works, how long it may take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from normexp.errors import UserError
from normexp.records import FINISHED, RunDirectory, printable
from normexp.records.parsing import json_object
from normexp.sweeps.protocol import CellState, Observer, beat_name
from normexp.sweeps.shared import SharedSweep


@dataclass(frozen=True)
class WorkerView:
    """A worker as its file shows it; all durations are by its own clock.

    Args:
        silent: it shows no change any more; whoever looks on has seen that by its own clock.
    """

    name: str
    host: str
    via: str
    seconds: float
    ended: int
    busy: float
    cell: str
    cell_seconds: float
    step: int
    steps: int
    silent: bool

    @property
    def part(self) -> float:
        """The fraction of its cell that is done."""
        return self.step / self.steps if self.steps else 0.0

    @property
    def rate(self) -> float:
        """Steps per second of its cell, evaluations included."""
        return self.step / self.cell_seconds if self.cell_seconds else 0.0


@dataclass(frozen=True)
class Snapshot:
    """Counts of cells by how they stand (free, held, done, diverged, failed), and the workers.

    Args:
        failures: {cell: cause}.
        trained: cells that have ended without a worker's word of it, and their seconds.
        abandoned: cells are left, and nobody works on them.
    """

    counts: Counter[str]
    workers: list[WorkerView]
    failures: Mapping[str, str] = field(default_factory=dict)
    trained: tuple[int, float] = (0, 0.0)
    abandoned: bool = False

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        return self.total - self.counts["free"] - self.counts["held"]

    @property
    def begun(self) -> float:
        """What is done of the cells that are running, in cells."""
        return sum(worker.part for worker in self.at_work if worker.cell)

    @property
    def at_work(self) -> list[WorkerView]:
        return [worker for worker in self.workers if not worker.silent]

    @property
    def seconds_per_cell(self) -> float | None:
        """The mean of the cells that ended under these workers, else what the first ones promise; None at the start."""
        ended = self.trained[0] + sum(worker.ended for worker in self.workers)
        if ended:
            return (self.trained[1] + sum(worker.busy for worker in self.workers)) / ended
        promised = [worker.cell_seconds / worker.part for worker in self.at_work if worker.part > 0]
        return sum(promised) / len(promised) if promised else None

    @property
    def seconds_left(self) -> float | None:
        """The estimated time until the last cell ends; None where it is not known."""
        each, workers = self.seconds_per_cell, len(self.at_work)
        if each is None or not workers:
            return None
        return each * max(0.0, self.total - self.ended - self.begun) / workers


class SweepView:
    """Looks at a shared sweep again and again; blocks whose cells all have their results are listed once."""

    def __init__(self, sweep: SharedSweep) -> None:
        self.sweep = sweep
        self.observer = Observer(3 * sweep.pace.heartbeat)
        self.ended: dict[int, str] = {}  # cell -> how it ended
        self._open = list(sweep.blocks)
        self._generations: dict[int, int] = {}  # cell -> of its newest claim
        self._causes: dict[tuple[int, int], str] = {}  # (cell, generation) -> why it failed

    def snapshot(self) -> Snapshot:
        """Look now."""
        held = 0
        for block in list(self._open):
            states = self.sweep.states(block)
            self._note(states)
            held += sum(state.is_held for state in states.values())
            if all(state.end in FINISHED for state in states.values()):
                self._open.remove(block)
        counts = Counter(self.ended.values())
        counts["held"] = held
        counts["free"] = len(self.sweep) - len(self.ended) - held
        workers = list(self._workers())
        abandoned = not self.is_ended() and all(worker.silent for worker in workers)
        failures = {self.sweep.name(cell): cause for cell, cause in self.causes().items()}
        return Snapshot(counts, workers, failures, abandoned=abandoned)

    def causes(self) -> dict[int, str]:
        """Return why each cell failed that had failed when it was last looked at."""
        failed = [(cell, self._generations[cell]) for cell, end in self.ended.items() if end == "failed"]
        self._causes |= {claim: self.sweep.cause(*claim) for claim in failed if claim not in self._causes}
        return {cell: self._causes[cell, generation] for cell, generation in failed}

    def _note(self, states: Mapping[int, CellState]) -> None:
        """Note which cells have ended; one that failed may have been opened again."""
        for cell, state in states.items():
            self._generations[cell] = state.generation
            if state.end:
                self.ended[cell] = state.end
            else:
                self.ended.pop(cell, None)

    @property
    def title(self) -> str:
        return printable(self.sweep.path)

    def name(self, cell: str) -> str:
        """Return what tells a cell apart that a worker names."""
        return self.sweep.names.get(cell, cell)

    def directory(self, cell: str) -> RunDirectory:
        """Return the run directory of a cell that a worker names."""
        return RunDirectory(self.sweep.results / cell)

    def is_ended(self) -> bool:
        return len(self.ended) == len(self.sweep)

    def _workers(self) -> Iterator[WorkerView]:
        for name in self.sweep.folder.workers():
            try:
                content = self.sweep.folder.read(beat_name(name))
                known = json_object((content or "").encode())
                yield _view(name, known, self.observer.is_dead(name, content, time.monotonic()))
            except (UserError, ValueError, TypeError, KeyError):  # has just ended; or no worker's file
                continue


def _view(name: str, known: dict[str, Any], silent: bool) -> WorkerView:
    return WorkerView(
        name=name,
        host=str(known["host"]),
        via=str(known["via"]),
        seconds=float(known["seconds"]),
        ended=int(known["ended"]),
        busy=float(known["busy"]),
        cell=str(known["cell"]),
        cell_seconds=float(known["cell_seconds"]),
        step=int(known["step"]),
        steps=int(known["steps"]),
        silent=silent,
    )


def is_anybody_there(sweep: SharedSweep, seconds: float) -> bool:
    """Tell whether a worker shows within so many seconds that it lives; at once where no worker has a file."""
    first = {name: sweep.folder.read(beat_name(name)) for name in sweep.folder.workers()}
    until = time.monotonic() + seconds
    while first and time.monotonic() < until:
        if any(sweep.folder.read(beat_name(name)) not in (content, None) for name, content in first.items()):
            return True
        if set(sweep.folder.workers()) - set(first):
            return True
        time.sleep(min(0.5, sweep.pace.heartbeat))
    return False
