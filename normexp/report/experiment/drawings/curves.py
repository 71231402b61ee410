"""A metric over training: mean and band over seeds of every arm, the published curve dashed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from normexp.evidence.curves import Cell, Curve
from normexp.records import RunDirectory
from normexp.report.colors import Look
from normexp.report.experiment.drawings.bands import CROSSES, band, meaning
from normexp.report.experiment.drawings.frame import Room
from normexp.report.experiment.drawings.panels import Line, Panel, Scales, line_figure
from normexp.report.experiment.drawings.subject import Subject, converged, factor
from normexp.report.measurements import measurements, title

Numbers = npt.NDArray[np.float64]


def curves(subject: Subject) -> Figure:
    metric = subject.spec["metric"]
    printed = subject.spec.get("published", {}) if subject.scale == "paper" else {}
    looks = subject.looks_of(list(subject.runs))
    lines: list[Line] = []
    for cell in subject.runs:
        lines.append(metric_line(subject, cell, metric, looks[cell]))
        lines += _published(cell, printed, subject.spec.get("x", "step"), looks[cell], factor(metric))
    seeds = max(len(runs) for runs in subject.runs.values())
    crosses = CROSSES if any(line.crosses for line in lines) else ""
    captions = subject.captions(meaning(seeds, subject.log("y")), crosses)
    if subject.spec.get("published") and not printed:
        captions = captions[captions[0] == subject.spec.get("caption") :]  # it tells of curves that are not drawn
    x_label = subject.label("x", subject.spec.get("x", "step"))
    scales = Scales(x_label, subject.label("y", title(metric)), metric)
    return line_figure(subject, [Panel(lines)], scales, captions, Room())


def metric_line(subject: Subject, cell: Cell, metric: str, look: Look, text: str | None = None) -> Line:
    """Return one metric of a cell over training, in the unit of the axis: over the converged runs, a cross for others.

    Args:
        text: the line's name; the cell's by default, with the number of converged runs where not all did.
    """
    runs, unit = subject.runs[cell], factor(metric)
    alive = {seed: run for seed, run in runs.items() if not run.diverged}
    name = f"{subject.name(cell)}{converged(runs, len(alive))}" if text is None else text
    drawn = [_run(subject, cell, seed, run, metric) for seed, run in alive.items()]
    crosses = tuple(
        (float(x[-1]), unit * float(y[-1]))
        for x, y in (_run(subject, cell, seed, run, metric) for seed, run in runs.items() if seed not in alive)
        if len(x)
    )
    if not drawn:
        return Line(name, look, np.zeros(0), np.zeros(0), crosses=crosses)
    x, mean, low, high = band(drawn, subject.log("y"))
    return Line(name, look, x, unit * mean, unit * low, unit * high, crosses)


def _run(subject: Subject, cell: Cell, seed: int, run: Curve, metric: str) -> tuple[Numbers, Numbers]:
    """Return (x, y) of one run where it was measured."""
    x = np.asarray(run.step, dtype=np.float64)
    if subject.spec.get("x") == "epoch":
        x = _epochs(subject, subject.place(cell, seed))
    y = run.columns.get(metric, np.full(len(x), np.nan))
    known = ~np.isnan(y) if not run.diverged else np.ones(len(y), dtype=bool)
    return x[known], y[known]


def _epochs(subject: Subject, run: RunDirectory) -> Numbers:
    columns = measurements(run, run.status)
    if "epoch" not in columns:
        raise subject.error("x=epoch: its runs record no epoch; allowed: step")
    return np.array(columns["epoch"])


def _published(cell: Cell, printed: dict[str, Any], along: str, look: Look, unit: float) -> Iterator[Line]:
    if cell.arm in printed:
        x, y = (np.array(printed[cell.arm][key], dtype=np.float64) for key in (along, "value"))
        yield Line(f"{cell.arm}, published", Look(look.color, (4, 2)), x, unit * y, width=1)
