"""Worker processes side by side: a cell that fails, is killed or runs out of memory stops no other."""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from normexp.children import python
from normexp.errors import Interrupted, UserError, came_of_interrupt
from normexp.records import FINISHED, TRACEBACK, RunDirectory, write_atomically
from normexp.runs.signals import stops_as_ctrl_c

if TYPE_CHECKING:
    from normexp.sweeps.plan import Cell

# A batch system may send SIGUSR2 to all processes of a job: what to do about it is the sweep's business.
PROGRAM = """
import signal
if hasattr(signal, "SIGUSR2"):
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
from normexp.sweeps.worker_process import main
main()
"""
BUSY_PAUSE = 0.5  # seconds before looking again whether another sweep has finished a cell that we share
logger = logging.getLogger("normexp")
STOPPED = "stopped, and what was running is saved; the same command continues"
UNBEGUN = "stopped before the first run, when nothing was running; the same command continues"


class Worker:
    """One process that trains one cell after the other; it starts at the first cell, and again after it died.

    Args:
        threads: CPU threads for the process.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.process: subprocess.Popen[str] | None = None
        self.warnings: set[str] = set()  # said already; workers side by side share them
        self.stopping = False

    def request(
        self, message: dict[str, Any], on_step: Callable[[int, int], None] = lambda step, steps: None
    ) -> dict[str, Any]:
        """Send one message and return the answer; a process that died answers `failed` with its cause.

        Raises: Interrupted where `stop` came first.
        """
        if self.stopping:
            raise Interrupted(STOPPED)
        process = self.process = self.process or self._start()
        if self.stopping:  # since it was looked at: `stop` found no process, or this one
            process.terminate()
        answer = self._answer(process, message, on_step)
        if answer is None:
            self.close()
            answer = {"status": "failed", "cause": _cause_of_death(process.returncode)}
        if self.stopping and answer.get("status") in ("failed", "interrupted"):
            raise Interrupted(STOPPED)
        return answer

    def stop(self) -> None:
        """Have the process save its run and end, and start no other."""
        self.stopping = True
        if (process := self.process) is not None:
            process.terminate()

    def close(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):  # what it never read is lost with it
                process.stdin.close()
            process.wait()
            process.stdout.close()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            python(PROGRAM),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(self.threads)},
            start_new_session=True,  # Ctrl-C reaches the sweep alone, which then stops its workers
        )

    def _answer(
        self, process: subprocess.Popen[str], message: dict[str, Any], on_step: Callable[[int, int], None]
    ) -> dict[str, Any] | None:
        """Return the answer to one message, or None if the process dies before it has given one."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if not line.endswith("\n"):
                    break  # killed in the middle of a word
                event: dict[str, Any] = json.loads(line)
                if event["event"] == "end":
                    return event
                if event["event"] == "warning":
                    self._warn(event["text"])
                else:
                    on_step(event["step"], event["steps"])
        return None

    def _warn(self, text: str) -> None:
        """Say what a worker warns of, once however many cells it is of."""
        if text not in self.warnings:
            self.warnings.add(text)
            logger.warning(text)


@contextmanager
def stops_between_runs() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM say what they say while workers train where none does: between two trials, say.

    Raises: Interrupted then.
    """
    try:
        with stops_as_ctrl_c():
            yield
    except BaseException as error:
        if came_of_interrupt(error):
            raise Interrupted(STOPPED) from None
        raise


def _cause_of_death(status: int) -> str:
    if status >= 0:
        return f"the worker process ended with status {status}"
    name = signal.Signals(-status).name
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"the worker process was killed by {name}{hint}"


class Pool:
    """Trains cells with several workers.

    Args:
        workers: one per cell that runs at the same time.
        on_step: called with (cell, steps done, steps), from several threads.
        on_end: called with (cell, answer), from several threads.
    """

    def __init__(
        self,
        workers: list[Worker],
        on_step: Callable[[Any, int, int], None],
        on_end: Callable[[Any, dict[str, Any]], None],
    ) -> None:
        self.workers, self.on_step, self.on_end = workers, on_step, on_end

    def run(self, cells: Iterable[Cell | tuple[Cell, ...]], force: bool) -> None:
        """Train all cells, those of a tuple together.

        Raises: Interrupted, once every run is saved, where the workers were told to stop.
        """
        waiting: queue.SimpleQueue[Cell | tuple[Cell, ...]] = queue.SimpleQueue()
        for cell in cells:
            waiting.put(cell)
        threads = [threading.Thread(target=self._loop, args=(worker, waiting, force)) for worker in self.workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if any(worker.stopping for worker in self.workers):
            raise Interrupted(STOPPED)

    def _loop(self, worker: Worker, waiting: queue.SimpleQueue[Cell | tuple[Cell, ...]], force: bool) -> None:
        while not worker.stopping:
            try:
                job = waiting.get_nowait()
                cells = job if isinstance(job, tuple) else (job,)
                busy = any(cell.directory.is_locked() for cell in cells)
                answers = [{"status": "busy"}] if busy else self._train(worker, job, force)
            except (queue.Empty, Interrupted):
                return
            if answers[0]["status"] == "busy":  # another sweep is at it: look again later
                waiting.put(job)
                time.sleep(BUSY_PAUSE)
                continue
            for cell, answer in zip(cells, answers, strict=True):
                record_failure(cell.directory, answer)
                self.on_end(cell, answer)

    def _train(self, worker: Worker, job: Cell | tuple[Cell, ...], force: bool) -> list[dict[str, Any]]:
        """Train one cell, or several together; return how each ended."""
        if not isinstance(job, tuple):
            message = {"verb": "train", **_message(job), "force": force}
            return [worker.request(message, lambda step, steps: self.on_step(job, step, steps))]
        message = {"verb": "stack", "cells": [_message(cell) for cell in job], "force": force}
        answer = worker.request(message, lambda step, steps: self.on_step(job[0], step, steps))
        if "statuses" in answer:
            return [{"status": status} for status in answer["statuses"]]
        recorded = ["" if force else cell.directory.status["status"] for cell in job]
        return [{"status": status} if status in FINISHED else answer for status in recorded]  # some may have ended


def _message(cell: Cell) -> dict[str, Any]:
    return {"overrides": cell.overrides, "path": str(cell.directory.path)}


def record_failure(directory: RunDirectory, answer: dict[str, Any]) -> None:
    """Leave the cause of a death in the run directory: the dead worker could not. A full disk is no run's fault.

    A finished run that was to be trained again, and was not begun, stays as it was.
    """
    if answer["status"] != "failed" or answer.get("no_room"):
        return
    with suppress(OSError, UserError):  # a full disk, a damaged record: the sweep's last lines still tell
        recorded = directory.status
        if recorded["status"] in FINISHED:
            return
        if recorded["status"] == "failed" and recorded.get("cause", "").startswith(answer["cause"]):
            return
        directory.path.mkdir(parents=True, exist_ok=True)
        known = {key: value for key, value in recorded.items() if key not in ("status", "cause")}
        directory.write_status("failed", **known, cause=answer["cause"])
        (directory.path / TRACEBACK).unlink(missing_ok=True)  # of an earlier attempt
        if "traceback" in answer:
            write_atomically(directory.path / TRACEBACK, answer["traceback"])
