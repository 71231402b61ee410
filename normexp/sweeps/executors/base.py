"""The one seam between a sweep and whatever starts its workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from normexp.children import normexp
from normexp.config.text import as_argument
from normexp.sweeps.shared import SharedSweep


class Executor(Protocol):
    """Starts N workers of a shared sweep and tells when they are gone."""

    def check(self) -> None:
        """Raise UserError for what cannot work here. Writes and submits nothing."""

    def start(self, sweep: SharedSweep) -> str:
        """Start the workers; return what to call them (`slurm job 17`)."""

    def is_left(self, sweep: SharedSweep) -> bool:
        """Tell whether workers that were started still run, or wait in a queue."""

    def last_words(self, sweep: SharedSweep) -> str:
        """Return what a worker said that could not go on; nothing where none did, or where that is not at hand."""

    def stop(self) -> None:
        """Have the workers save their runs and end, where that is this process's business."""


def worker_command(sweep: SharedSweep, threads: int) -> Sequence[str]:
    """Return the command of one worker."""
    return normexp("worker", as_argument(sweep.path), "--threads", str(threads))


def last_line(error: Exception) -> str:
    """Return the last line of what a batch system said, else the kind of the error."""
    return (str(error).strip() or type(error).__name__).splitlines()[-1].strip()
