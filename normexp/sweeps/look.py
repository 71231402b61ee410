"""One look at a sweep, for people: a line of counts and times, a row for every cell at work, what failed."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Protocol

from normexp.config.text import amount
from normexp.errors import UserError
from normexp.records import METRICS, RunDirectory, printable
from normexp.runs.progress import format_duration, format_metric, watched
from normexp.sweeps.snapshot import Snapshot, WorkerView

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_ROWS = 40  # workers shown; the longest at their cell first
MOST_FAILURES = 10  # named
STATES = ("done", "diverged", "failed", "stopped", "held", "free")
HEADERS = ("worker", "run", "step", "steps/s", "since", "runs ended", "metric", "curve")
BARS, WIDTH = "▁▂▃▄▅▆▇█", 16


class View(Protocol):
    """A sweep that is looked at again and again."""

    @property
    def title(self) -> str: ...

    def snapshot(self) -> Snapshot: ...

    def is_ended(self) -> bool: ...

    def name(self, cell: str) -> str: ...

    def directory(self, cell: str) -> RunDirectory: ...


def text(view: View, snapshot: Snapshot) -> list[str]:
    """Return the lines of one sweep."""
    lines = [headline(view, snapshot)]
    for worker, cell, step, rate, since, ended, metric, curve in rows(view, snapshot):
        at = f"step {step}" + (f" at {rate} steps/s" if rate else "") if step else ""
        words = (worker, cell, at, f"since {since}", f"{ended} ended" if ended else "", metric, curve)
        lines.append("  " + "  ".join(word for word in words if word))
    return lines + [f"  {line}" for line in (*failures(snapshot), *nobody(snapshot))]


def picture(view: View, snapshot: Snapshot) -> RenderableType:
    """Return the same for a terminal. Columns that say nothing are left out."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    bar = Padding(ProgressBar(max(snapshot.total, 1), snapshot.ended + snapshot.begun), 0)  # ends in no line break
    found = rows(view, snapshot)
    columns = [index for index in range(len(HEADERS)) if any(cells[index] for cells in found)]
    made = Table(*(HEADERS[index] for index in columns), expand=False)
    for cells in found:
        made.add_row(*(Text(cells[index]) for index in columns))
    failed = [Text(line, style="red") for line in failures(snapshot)]
    left = [Text(line) for line in nobody(snapshot)]
    return Group(Text(headline(view, snapshot)), bar, *([made] if found else []), *failed, *left)


def headline(view: View, snapshot: Snapshot) -> str:
    """Return one line: runs by how they stand, workers, rate, estimated end."""
    words = {"held": "running", "free": "waiting"}
    counts = ", ".join(f"{snapshot.counts[name]} {words.get(name, name)}" for name in STATES if snapshot.counts[name])
    workers = len(snapshot.at_work)
    silent = len(snapshot.workers) - workers
    parts = [f"{view.title}: {amount(snapshot.total, 'run')}: {counts}"]
    if snapshot.ended < snapshot.total:
        parts.append(amount(workers, "worker") + (f", {silent} silent" if silent else ""))
        parts += _time(snapshot)
    return "; ".join(parts)


def _time(snapshot: Snapshot) -> list[str]:
    each, left = snapshot.seconds_per_cell, snapshot.seconds_left
    if each is None or left is None:
        return []
    per_hour = 3600 * len(snapshot.at_work) / each if each else 0.0
    end = time.strftime("%H:%M", time.localtime(time.time() + left))
    return [f"{per_hour:.3g} runs/h", f"about {format_duration(left)} left (until {end})"]


def rows(view: View, snapshot: Snapshot) -> list[tuple[str, ...]]:
    """Return a row for every worker, in the order of HEADERS."""
    shown = sorted(snapshot.workers, key=lambda worker: -worker.cell_seconds)[:MOST_ROWS]
    return [
        (*_row(view, worker), *(curve(view.directory(worker.cell)) if worker.cell else ("", ""))) for worker in shown
    ]


def _row(view: View, worker: WorkerView) -> tuple[str, ...]:
    via = f" ({worker.via})" if worker.via else ""
    state = "silent" if worker.silent else "looks for a run"
    cell = f"{view.name(worker.cell)} (silent)" if worker.silent else view.name(worker.cell)
    return (
        printable(f"{worker.host} {worker.name.rpartition('-')[0].rpartition('-')[2]}{via}" if worker.name else ""),
        printable(cell) if worker.cell else state,
        f"{worker.step}/{worker.steps}" if worker.cell and worker.steps else "",
        f"{worker.rate:.3g}" if worker.cell and worker.step else "",
        format_duration(worker.cell_seconds if worker.cell else worker.seconds),
        str(worker.ended) if worker.name else "",
    )


def curve(run: RunDirectory) -> tuple[str, str]:
    """Return a run's metric with its last value, and the metric over its evaluations in a few characters.

    Untrained, at step 0, it is so far from the rest that nothing else would show.
    """
    try:
        evaluations = run.rows(METRICS)
        evaluations = evaluations[1:] or evaluations
    except UserError:  # being written, or damaged
        return "", ""
    columns = [name for name in evaluations[-1] if "/" in name] if evaluations else []
    metric = watched(columns) or (columns[0] if columns else "")
    try:
        values = [float(row[metric]) for row in evaluations if metric and row[metric]]
    except ValueError:
        return "", ""
    return (format_metric(metric, values[-1]), spark(values)) if values else ("", "")


def spark(values: list[float]) -> str:
    """Return values as bars between the lowest and the highest, at most WIDTH of them; ! where one is not finite."""
    count = min(len(values), WIDTH)
    shown = [values[round(index * (len(values) - 1) / max(count - 1, 1))] for index in range(count)]
    finite = [value for value in shown if math.isfinite(value)] or [0.0]
    low, span = min(finite), max(finite) - min(finite)
    parts = ((value - low) / span if span else 0.5 for value in shown)
    return "".join(BARS[round(part * (len(BARS) - 1))] if math.isfinite(part) else "!" for part in parts)


def failures(snapshot: Snapshot) -> list[str]:
    """Return a line for each cell that failed, with its cause; of many the first."""
    named_ones = list(snapshot.failures.items())[:MOST_FAILURES]
    lines = [printable(f"failed: {cell}{f': {cause}' if cause else ''}") for cell, cause in named_ones]
    more = len(snapshot.failures) - len(lines)
    return [*lines, *([f"failed: {more} more"] if more else [])]


def nobody(snapshot: Snapshot) -> list[str]:
    """Return how a sweep that was interrupted goes on; nothing while somebody works on it."""
    return ["nobody works on it; the command that began it continues it"] if snapshot.abandoned else []
