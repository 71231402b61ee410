"""`normexp worker SWEEP`: claim a cell of a shared sweep, train it, claim the next, until nothing is left.

Claims, heartbeats and marks are this process's; a process below it trains, so that one that is killed or runs out of
memory costs its cell only. The rules are in `protocol`, and on one page in docs/cluster.md.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from normexp.errors import Interrupted, UserError
from normexp.records import FINISHED, RunDirectory
from normexp.runs.signals import stop_signals
from normexp.sweeps.beats import Beats
from normexp.sweeps.pool import STOPPED, Worker, record_failure
from normexp.sweeps.protocol import ENDS, CellState, Claim, Observer, carry_out, end, holder, is_valid, reopen, take
from normexp.sweeps.shared import SharedSweep

MOST_LOOKS = 64  # holders that a waiting worker watches at a time
PREEMPTED = [number for name, number in vars(signal).items() if name == "SIGUSR2"]  # what SLURM sends before the end
FRESH = 1.0  # seconds that a listing is good for: whoever acts on an older one loses races
SLICE = 0.2  # seconds after which a waiting worker looks whether it is to stop
logger = logging.getLogger("normexp")


class SweepWorker:
    """One worker of a shared sweep.

    Args:
        worker: the process that trains.
        via: who started it, for people.
    """

    def __init__(self, sweep: SharedSweep, worker: Worker, via: str = "") -> None:
        self.sweep, self.worker, self.pace = sweep, worker, sweep.pace
        self.beats = Beats(sweep.folder, self.pace.heartbeat, via)
        self.observer, self.attempts = Observer(self.pace.takeover), itertools.count(1)
        self.stopping = False
        self._looks, self._place = 0, zlib.crc32(self.beats.name.encode())

    def stop(self) -> None:
        """Have the run saved and its claim given up. Safe in a signal handler."""
        self.stopping = True
        self.worker.stop()

    def serve(self) -> int:
        """Train what can be claimed until every cell has ended; return how many cells that were.

        Raises: Interrupted, with the run saved and its cell open to others, where `stop` came first.
        """
        trained = 0
        with self.beats.beating():
            try:
                for claim in self.claims():
                    trained += self.train(claim)
            finally:
                self.worker.close()
        if self.stopping:
            raise Interrupted(STOPPED)
        return trained

    def claims(self) -> Iterator[Claim]:
        """Yield claims until every cell has ended, waiting where all that is left is held by others."""
        blocks = list(self.sweep.blocks)
        first = self._place % len(blocks)
        blocks = blocks[first:] + blocks[:first]
        while blocks and not self.stopping:
            self._looks, found = 0, False
            for block in list(blocks):
                for claim in self._claims_of(block):
                    found = True
                    yield claim
                if self.stopping:
                    return
                if all(state.end for state in self.sweep.states(block).values()):
                    blocks.remove(block)
            if blocks and not found:
                self._wait()

    def _claims_of(self, block: int) -> Iterator[Claim]:
        """Go once through the cells of a block, from a place of one's own on; yield what can be had."""
        states, listed = self.sweep.states(block), time.monotonic()
        cells = list(states)
        first = self._place % len(cells)
        for cell in cells[first:] + cells[:first]:
            if self.stopping:
                return
            if time.monotonic() - listed > FRESH:
                states, listed = self.sweep.states(block), time.monotonic()
            claim = self._try(cell, states[cell])
            if claim is not None:
                yield claim

    def _try(self, cell: int, state: CellState) -> Claim | None:
        """Claim a cell that is free or whose holder is dead."""
        if state.end or not (state.is_free or self._is_left(cell, state)):
            return None
        if RunDirectory(self.sweep.directory(cell)).is_locked():
            return None  # by a run that is no part of this sweep, or by a holder that stands still
        return carry_out(take(cell, state, self.beats.name, next(self.attempts)), self.sweep.folder)

    def _is_left(self, cell: int, state: CellState) -> bool:
        if self._looks >= MOST_LOOKS:
            return False
        self._looks += 1
        of = carry_out(holder(cell, state), self.sweep.folder)
        return of is not None and self.observer.is_dead(*of, time.monotonic())

    def _wait(self) -> None:
        until = time.monotonic() + self.pace.heartbeat
        while not self.stopping and time.monotonic() < until:
            time.sleep(min(SLICE, self.pace.heartbeat))

    def train(self, claim: Claim) -> bool:
        """Train the cell of a claim and mark how it ended; tell whether it has ended."""
        path = self.sweep.cell(claim.cell).path
        self.beats.begins(path)
        status, cause = "interrupted", ""
        try:
            answer = self._answer(claim)
            status, cause = answer["status"], answer.get("cause", "")
        except Interrupted:
            pass
        if status in ENDS:
            carry_out(end(claim, status, cause), self.sweep.folder)
        elif status != "taken":  # stopped, or somebody outside the sweep is at it
            carry_out(reopen(claim.cell, claim.generation), self.sweep.folder)
        self.beats.ended(counts=status in FINISHED)
        logger.info(f"{status} {self.sweep.directory(claim.cell)}{f': {cause}' if cause else ''}")
        return status in FINISHED

    def _answer(self, claim: Claim) -> dict[str, Any]:
        """Return the status of a finished run, else what the training process answers."""
        cell, directory = self.sweep.cell(claim.cell), RunDirectory(self.sweep.directory(claim.cell))
        if (status := _finished(directory)) is not None:
            return {"status": status}
        message = {
            "verb": "train",
            "overrides": list(cell.overrides),
            "path": str(directory.path),
            "force": False,
            "claim": [str(self.sweep.path), claim.cell, claim.generation, claim.worker, claim.attempt],
        }
        answer = self.worker.request(message, self.beats.stepped)
        if carry_out(is_valid(claim), self.sweep.folder):
            record_failure(directory, answer)
        elif answer["status"] == "failed":
            return {"status": "taken"}
        return answer


def _finished(directory: RunDirectory) -> str | None:
    from normexp.runs.run import read_status

    try:
        status = str(read_status(directory)["status"])
    except UserError:  # damaged: the run sets it aside
        return None
    return status if status in FINISHED else None


def slurm_job() -> str:
    """Return `slurm JOB_TASK` where this process belongs to a job of SLURM."""
    job, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"slurm {job}_{task}" if job else ""


def serve(path: str, threads: int, via: str = "") -> int:
    """Be a worker of the sweep at a path until nothing is left; return the exit status, 0.

    Raises: UserError where no plan is seen there, Interrupted after Ctrl-C or SIGTERM.
    """
    sweep = SharedSweep(Path(path))
    member = SweepWorker(sweep, Worker(threads), via or slurm_job())
    with stop_signals(member.stop, PREEMPTED):
        trained = member.serve()
    logger.info(f"every one of {len(sweep)} runs has ended; {trained} were trained here")
    return 0
