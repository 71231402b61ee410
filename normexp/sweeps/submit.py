"""A sweep through an executor: plan it into a shared folder, start workers there, follow them; or attach to them."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.config.text import as_argument
from normexp.errors import Interrupted, Submitted, UserError
from normexp.records import FINISHED
from normexp.records.files import no_room
from normexp.runs.signals import stop_signals
from normexp.sweeps.executors.base import Executor
from normexp.sweeps.executors.settings import Settings, checked
from normexp.sweeps.progress import SweepProgress, sweep_progress
from normexp.sweeps.shared import PLAN, CellToTrain, Pace, SharedSweep, forget_plan, shared_sweep, write_plan
from normexp.sweeps.snapshot import SweepView, is_anybody_there
from normexp.sweeps.workers import KeptWorkers

if TYPE_CHECKING:
    from normexp.sweeps.pool import Worker

NOBODY = "no worker is left"
LOOK, SHARE = 0.5, 10  # seconds between two looks at a sweep; how often longer than the look itself
logger = logging.getLogger("normexp")


@dataclass(frozen=True)
class Sharing:
    """How a sweep is shared, and its cells with each other.

    Args:
        settings: of the executor; None where none was named.
        jobs: local workers, where their number was given.
        stack: `true`, `false` or `auto`, see `normexp.sweeps.stacks`.
        kept: where local workers go between two plans of one command; without it they end.
    """

    settings: Settings | None = None
    jobs: int | None = None
    stack: str = "false"
    kept: KeptWorkers | None = None

    def check(self, force: bool) -> None:
        """Raise UserError, before anything is planned or written, for what cannot work."""
        if self.settings is None:
            return
        if self.stack != "false":
            raise UserError(f"stack={self.stack}: trains on this machine, without executor=")
        if force:
            raise UserError("--force trains on this machine, without executor=")
        if self.is_elsewhere:
            executor(self.settings, []).check()
        if self.jobs is not None and (self.is_elsewhere or self.settings["workers"] is not None):
            raise UserError(f"jobs={self.jobs}: with executor={self.settings.name} give executor.workers=")

    def check_stack(self, cells: Sequence[CellToTrain], results: Path) -> None:
        """Raise UserError for a sweep that is to be stacked, and that workers share who train run after run."""
        if self.stack != "false" and self.is_shared(cells, results):
            plan = shared_sweep(cells, results).path
            raise UserError(f"stack={self.stack}: this sweep was begun with executor= ({plan}); leave it out to go on")

    @property
    def is_elsewhere(self) -> bool:
        """Tell whether the executor needs no workers of this machine."""
        return self.settings is not None and self.settings.name != "local"

    @property
    def workers(self) -> int | None:
        """Return how many local workers are wanted; None where the machine decides."""
        asked = self.settings["workers"] if self.settings and not self.is_elsewhere else None
        return self.jobs if asked is None else int(asked)

    def is_shared(self, cells: Sequence[CellToTrain], results: Path) -> bool:
        """Tell whether a sweep goes through a shared folder: an executor was named, or it did before."""
        return self.settings is not None or self.is_begun(cells, results)

    def is_begun(self, cells: Sequence[CellToTrain], results: Path) -> bool:
        """Tell whether a sweep went through a shared folder before, so that workers may be at it."""
        return (shared_sweep(cells, results).path / PLAN).exists()


@contextmanager
def kept_workers(sharing: Sharing) -> Iterator[Sharing]:
    """Let all plans that are trained with what is returned have the same workers; they end with the context."""
    kept = KeptWorkers()
    try:
        yield replace(sharing, kept=kept)
    finally:
        kept.close()


def executor(settings: Settings, workers: Sequence[Worker]) -> Executor:
    """Return what starts the workers.

    Args:
        workers: as many, with as many threads, as a sweep without an executor would have on this machine.
    """
    if settings.name == "slurm":
        from normexp.sweeps.executors.slurm import SlurmExecutor

        return SlurmExecutor(settings)
    if settings.name == "ray":
        from normexp.sweeps.executors.ray import RayExecutor

        return RayExecutor(settings)
    from normexp.sweeps.executors.local import LocalExecutor

    return LocalExecutor(len(workers), workers[0].threads if workers else 1)


def run_shared(
    cells: Sequence[CellToTrain], results: Path, sharing: Sharing, workers: Sequence[Worker]
) -> dict[Path, tuple[str, str]]:
    """Have all cells trained; return {run directory: (how it ended, cause)}, `open` where nobody trains it any more.

    Raises: Submitted where the workers go on without this process, Interrupted after Ctrl-C, UserError where nothing
        could be started.
    """
    settings = sharing.settings or checked("local", {})
    engine = executor(settings, workers)
    sweep = shared_sweep(cells, results)
    if (sweep.path / PLAN).exists() and (engine.is_left(sweep) or is_anybody_there(sweep, 2 * sweep.pace.heartbeat)):
        if sharing.settings or sharing.jobs:
            more = shlex.join(["normexp", "worker", as_argument(sweep.path)])
            logger.info(f"its workers stay as they are, whatever executor= and jobs= say; `{more}` adds one")
        logger.info(f"attached to {sweep.path}; Ctrl-C leaves its workers alone")
        return follow(sweep, engine, stops=False, workers=workers)
    is_new = not (sweep.path / PLAN).exists()
    sweep = write_plan(cells, results, Pace(settings["heartbeat"], settings["takeover"]))
    if failed := sweep.retry_failed({number for number, cell in enumerate(cells) if cell.state not in FINISHED}):
        logger.info(f"{failed} runs that failed, or whose record is lost, are tried again")
    if settings.name == "slurm" and settings["print_script"]:
        raise _printed(sweep, settings)
    try:
        logger.info(f"{sweep.path}: {engine.start(sweep)}")
    except UserError:
        if is_new:
            forget_plan(sweep)
        raise
    if settings["detach"]:
        look = shlex.join(["normexp", "status", "--watch", as_argument(sweep.path)])
        raise Submitted(f"submitted; `{look}` follows, the same command attaches")
    return follow(sweep, engine, stops=True, workers=workers)


def _printed(sweep: SharedSweep, settings: Settings) -> Submitted:
    from normexp.sweeps.executors.slurm import write_script

    path = write_script(sweep, settings)
    print(path.read_text(encoding="utf-8"), end="")
    submit = shlex.join(["sbatch", as_argument(path)])
    return Submitted(f"nothing was submitted; {submit} does, from the folder of this command")


def follow(sweep: SharedSweep, engine: Executor, stops: bool, workers: Sequence[Worker]) -> dict[Path, tuple[str, str]]:
    """Show the sweep until every cell has ended, or no worker is left.

    Args:
        stops: at Ctrl-C and SIGTERM, stop the workers that this process has started.
        workers: that were told to stop where the signal came before this.
    """
    view, told = SweepView(sweep), set[int]()
    stopped: list[bool] = []
    with stop_signals(lambda: stopped.append(True)), sweep_progress(len(sweep)) as progress:
        stopped += [True for worker in workers if worker.stopping]
        while not stopped:
            looked = time.monotonic()
            if _show(view, progress, told):
                break
            spent = time.monotonic() - looked  # what follows waits, of workers elsewhere, for a sign of life
            if not engine.is_left(sweep) and not is_anybody_there(sweep, sweep.pace.takeover):
                _show(view, progress, told)
                break
            time.sleep(max(min(LOOK, sweep.pace.heartbeat), SHARE * spent))
        if stopped:
            if stops:
                engine.stop()
            left = "stopped, and what was running is saved" if stops else "left; its workers go on"
            raise Interrupted(f"{left}; the same command {'continues' if stops else 'attaches again'}")
        engine.stop()  # of those that wait for others there is nothing left to save
    causes = view.causes()
    ended = {sweep.directory(cell): (status, causes.get(cell, "")) for cell, status in view.ended.items()}
    return ended | _left(sweep, engine, view)


def _left(sweep: SharedSweep, engine: Executor, view: SweepView) -> dict[Path, tuple[str, str]]:
    """Return the cells that nobody trains any more, with what is known of why."""
    cells = [cell for cell in range(len(sweep)) if cell not in view.ended]
    why = (engine.last_words(sweep) or no_room(sweep.path)) if cells else ""
    return {sweep.directory(cell): ("open", f"{NOBODY}: {why}" if why else NOBODY) for cell in cells}


def _show(view: SweepView, progress: SweepProgress, told: set[int]) -> bool:
    """Tell what has ended since the last look and how far the others are; return whether all have ended."""
    snapshot = view.snapshot()
    for cell in sorted(set(view.ended) - told):
        told.add(cell)
        progress.ended(view.sweep.name(cell), view.ended[cell])
    for worker in snapshot.at_work:
        if worker.cell and worker.steps:
            progress.step(view.sweep.names[worker.cell], worker.step, worker.steps)
    return view.is_ended()
