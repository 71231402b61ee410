"""`normexp status --watch`: who trains what, since when, at which step, how fast, until when; from any machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.errors import UserError
from normexp.records import printable
from normexp.runs.progress import format_duration
from normexp.sweeps.shared import PLAN, SWEEPS, SharedSweep
from normexp.sweeps.snapshot import Snapshot, SweepView, WorkerView

if TYPE_CHECKING:
    from rich.table import Table

PLAIN_EVERY, LIVE_EVERY = 10.0, 2.0  # seconds
MOST_ROWS = 40  # workers shown; the longest at their cell first
STATES = ("done", "diverged", "failed", "held", "free")
HEADERS = ("worker", "cell", "step", "steps/s", "since", "cells ended")


def sweeps_below(path: Path) -> list[SharedSweep]:
    """Return the shared sweeps that a path names: one, or all of a results folder. Raises UserError for none."""
    if (path / PLAN).exists():
        return [SharedSweep(path)]
    found = [SharedSweep(plan.parent) for plan in sorted((path / SWEEPS).glob(f"*/{PLAN}"))]
    if not found:
        raise UserError(
            f"{printable(path)}: holds no shared sweep ({SWEEPS}/ID); `normexp sweep ... executor=...` makes one"
        )
    return found


def watch(path: Path, write: Callable[[str], object] = print, rounds: int | None = None) -> int:
    """Follow the sweeps at a path until all have ended; return the exit status, 1 where cells failed.

    On a terminal the view is redrawn; elsewhere a block of lines is written whenever something has changed.

    Args:
        rounds: looks at most; by default until all have ended.
    """
    views = [SweepView(sweep) for sweep in sweeps_below(path)]
    if sys.stdout.isatty() and write is print:
        _live(views)
    else:
        _plain(views, write, rounds)
    return 1 if any("failed" in view.ended.values() for view in views) else 0


def _plain(views: list[SweepView], write: Callable[[str], object], rounds: int | None) -> None:
    before: list[str] = []
    for number in _rounds(views, PLAIN_EVERY):
        lines = [line for view in views for line in text(view.sweep, view.snapshot())]
        if lines != before:
            write("\n".join(lines))
            before = lines
        if number + 1 == rounds:
            return


def _live(views: list[SweepView]) -> None:
    from rich.console import Group
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        for _ in _rounds(views, LIVE_EVERY):
            live.update(Group(*(table(view.sweep, view.snapshot()) for view in views)), refresh=True)


def _rounds(views: list[SweepView], every: float) -> Iterator[int]:
    """Yield until every sweep has ended, so many seconds apart."""
    number = 0
    while True:
        yield number
        if all(view.is_ended() for view in views):
            return
        time.sleep(every)
        number += 1


def headline(sweep: SharedSweep, snapshot: Snapshot) -> str:
    """Return one line: cells by how they stand, workers, rate, estimated end."""
    words = {"held": "running", "free": "waiting"}
    counts = ", ".join(f"{snapshot.counts[name]} {words.get(name, name)}" for name in STATES if snapshot.counts[name])
    workers = len(snapshot.at_work)
    silent = len(snapshot.workers) - workers
    parts = [f"{printable(sweep.path)}: {snapshot.total} cells: {counts}"]
    if snapshot.ended < snapshot.total:
        parts.append(f"{workers} workers" + (f", {silent} silent" if silent else ""))
        parts += _time(snapshot)
    return "; ".join(parts)


def _time(snapshot: Snapshot) -> list[str]:
    each, left = snapshot.seconds_per_cell, snapshot.seconds_left
    if each is None or left is None:
        return []
    per_hour = 3600 * len(snapshot.at_work) / each if each else 0.0
    end = time.strftime("%H:%M", time.localtime(time.time() + left))
    return [f"{per_hour:.3g} cells/h", f"about {format_duration(left)} left (until {end})"]


def row(worker: WorkerView) -> tuple[str, ...]:
    """Return a worker's cells in the order of HEADERS."""
    name = f"{worker.host} {worker.name.split('-')[-2]}" + (f" ({worker.via})" if worker.via else "")
    state = "silent" if worker.silent else "looks for a cell"
    cell = (Path(worker.cell).name if not worker.silent else f"{Path(worker.cell).name} (silent)") or state
    return (
        printable(name),
        printable(cell) if worker.cell else state,
        f"{worker.step}/{worker.steps}" if worker.cell and worker.steps else "",
        f"{worker.rate:.3g}" if worker.cell and worker.step else "",
        format_duration(worker.cell_seconds if worker.cell else worker.seconds),
        str(worker.ended),
    )


def rows(snapshot: Snapshot) -> list[tuple[str, ...]]:
    shown = sorted(snapshot.workers, key=lambda worker: -worker.cell_seconds)[:MOST_ROWS]
    return [row(worker) for worker in shown]


def text(sweep: SharedSweep, snapshot: Snapshot) -> list[str]:
    """Return the lines of one sweep."""
    lines = [headline(sweep, snapshot)]
    for worker, cell, step, rate, since, ended in rows(snapshot):
        at = f"step {step}" + (f" at {rate} steps/s" if rate else "") if step else ""
        lines.append("  " + "  ".join(part for part in (worker, cell, at, f"since {since}", f"{ended} ended") if part))
    return lines


def table(sweep: SharedSweep, snapshot: Snapshot) -> Table:
    """Return the same for a terminal."""
    from rich.table import Table

    made = Table(*HEADERS, title=headline(sweep, snapshot), title_justify="left", expand=False)
    for cells in rows(snapshot):
        made.add_row(*cells)
    return made
