"""`normexp status --watch`: who trains what, since when, at which step, how well, until when; from any machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from normexp.errors import UserError
from normexp.records import find_runs, printable
from normexp.sweeps.last import FILE, planned
from normexp.sweeps.look import View, picture, text
from normexp.sweeps.runs_view import PlannedRuns, RunsView
from normexp.sweeps.shared import PLAN, SWEEPS, SharedSweep, is_shared_sweep
from normexp.sweeps.snapshot import SweepView

PLAIN_EVERY, LIVE_EVERY = 10.0, 2.0  # seconds
NARROWEST = 60  # columns of a terminal in which the table can be read


def views_of(path: Path) -> list[View]:
    """Return what there is to follow at a path.

    A shared sweep that is named; of a results folder its shared sweeps that are not over, and its last sweep; else the
    runs that lie there. What is over is shown where there is nothing else.

    Raises: UserError where there is neither a sweep nor a run.
    """
    if is_shared_sweep(path):
        return [SweepView(SharedSweep(path))]
    shared = [SweepView(SharedSweep(plan.parent)) for plan in sorted((path / SWEEPS).glob(f"*/{PLAN}"))]
    for view in shared:
        view.snapshot()
    found: list[View] = [view for view in shared if not view.is_ended()]
    if (path / FILE).exists():
        runs = planned(path)
        if not any(set(runs) == {view.sweep.directory(cell) for cell in range(len(view.sweep))} for view in shared):
            found.append(PlannedRuns(path, runs))
    return found or list(shared) or [_runs_at(path)]


def _runs_at(path: Path) -> RunsView:
    unseen: list[str] = []
    try:
        find_runs([path], unseen=unseen)
    except UserError as error:
        raise UserError(f"{error}; nor a sweep") from None
    title = "; not looked into: ".join([printable(path), *unseen])
    return RunsView(title, lambda: find_runs([path]))


def watch(path: Path) -> int:
    """Follow the sweeps at a path until all have ended or were left by whoever trained them.

    Return the exit status: 1 where cells failed, or are left.

    On a terminal that is wide enough the view is redrawn; elsewhere lines are written whenever something has changed.
    """
    views = views_of(path)
    (_live if redraws() else _plain)(views)
    ends = [view.snapshot() for view in views]
    return 1 if any(end.failures or end.abandoned for end in ends) else 0


def once(path: Path) -> str:
    """Return what there is to see now at a path; whether a worker shows no change any more takes a second look."""
    return "\n".join(line for view in views_of(path) for line in text(view, view.snapshot())) + "\n"


def redraws() -> bool:
    """Tell whether standard output is a terminal on which a table can be drawn over itself."""
    if not sys.stdout.isatty():
        return False
    from rich.console import Console

    console = Console()
    return not console.is_dumb_terminal and console.width >= NARROWEST


def _plain(views: list[View]) -> None:
    before: list[str] = []
    for _ in _rounds(views, PLAIN_EVERY):
        lines = [line for view in views for line in text(view, view.snapshot())]
        if lines != before:
            print("\n".join(lines), flush=True)  # a pipe would get it at the end
            before = lines


def _live(views: list[View]) -> None:
    from rich.console import Group
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        for _ in _rounds(views, LIVE_EVERY):
            live.update(Group(*(picture(view, view.snapshot()) for view in views)), refresh=True)


def _rounds(views: list[View], every: float) -> Iterator[None]:
    """Yield until every sweep has ended, so many seconds apart."""
    while True:
        yield
        if all(view.is_ended() for view in views):
            return
        time.sleep(every)
