"""The worker processes of a command: how many, with how many threads, and kept from one of its plans to the next."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from normexp.errors import Interrupted
from normexp.runs.signals import stop_signals
from normexp.sweeps.pool import STOPPED, Worker
from normexp.training.machine.cores import physical_cores


class KeptWorkers:
    """Workers without work, for the next plan of the same command: to import torch takes longer than a small run.

    Attributes:
        checked: the combinations of parts that were built, see `normexp.sweeps.beforehand`, and what probes measure.
    """

    def __init__(self) -> None:
        self.checked: dict[tuple[Hashable, ...], list[str] | None] = {}
        self._idle: list[Worker] = []
        self._warnings: set[str] = set()

    def take(self, threads: int) -> Worker:
        """Return a worker with so many threads: one that is kept, else a new one, which is not started yet."""
        for worker in self._idle:
            if worker.threads == threads:
                self._idle.remove(worker)
                return worker
        worker = Worker(threads)
        worker.warnings = self._warnings
        return worker

    def keep(self, worker: Worker) -> None:
        self._idle.append(worker)

    def close(self) -> None:
        """End their processes."""
        while self._idle:
            self._idle.pop().close()


@contextmanager
def worker_pool(jobs: int | None, cells: int, kept: KeptWorkers | None = None) -> Iterator[list[Worker]]:
    """Workers with the cores divided between them; they save and end at Ctrl-C and SIGTERM.

    Args:
        jobs: cells side by side. How many threads each has follows from it alone, and not from how many cells are
            left: a sum rounds by the number of threads, and the last cell of a sweep must end as it began.
        cells: to train; no more workers than that are needed.
        kept: where they come from, and go to where nothing has stopped them; without it they end.

    Raises: Interrupted where a signal came before all of them were there to be stopped.
    """
    workers: list[Worker] = []
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        for worker in workers:
            worker.stop()

    try:
        with stop_signals(stop):
            add_workers(workers, jobs, cells, kept or KeptWorkers())
            if stopped.is_set():
                raise Interrupted(STOPPED)
            yield workers
        while kept and workers:
            kept.keep(workers.pop(0))  # the first again: what was timed, it has timed
    finally:
        for worker in workers:
            worker.close()


def add_workers(workers: list[Worker], jobs: int | None, cells: int, kept: KeptWorkers) -> None:
    """Fill the list, with workers that may not have been started, but for the one that is asked for GPUs.

    By default one cell per core, at most four, which share the cores: faster than one cell on all.
    On a GPU one at a time.
    """
    cores = physical_cores()
    count = jobs or min(4, cores)
    threads = max(1, cores // count)
    workers.append(kept.take(threads))
    if jobs is None and workers[0].request({"verb": "gpus"}).get("gpus"):
        workers[0].close()
        workers[0] = kept.take(cores)
    else:
        workers += [kept.take(threads) for _ in range(min(count, cells) - 1)]
