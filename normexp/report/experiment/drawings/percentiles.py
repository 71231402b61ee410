"""Percentiles of one layer's input over training, one panel per arm, from the first seed's probes.csv."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from normexp.records import PROBES, RunDirectory, read_rows
from normexp.report.experiment.drawings.axis import Axis, beyond_note, set_axes
from normexp.report.experiment.drawings.frame import Room, frame, name_panel
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.layout import SMALL
from normexp.report.spread import spread

Levels = dict[str, tuple[list[int], list[float]]]  # statistic -> (steps, values)

ROOM = Room(right=0.45)


def percentiles(subject: Subject) -> Figure:
    layer = subject.spec["layer"]
    recorded = {cell: _levels(subject, run, layer) for cell, run in subject.first_seed.items()}
    drawn = [level for levels in recorded.values() for level in levels.values()]
    y = Axis.over([np.array(values) for _, values in drawn], subject.log("y"), subject.limits("y"))
    x = Axis.over([np.array([0.0]), *(np.array(steps, dtype=float) for steps, _ in drawn)], log=False, margin=0.0)
    figure, panels = frame(subject, len(recorded), subject.captions(beyond_note([y])), ROOM)
    for axes, (cell, levels) in zip(panels, recorded.items(), strict=True):
        set_axes(axes, x, y)
        shade = subject.color(cell)
        for statistic, (steps, values) in levels.items():
            axes.plot(steps, y.place(np.array(values)), color=shade, linewidth=1.4 if statistic == "p50" else 0.9)
        name_panel(axes, subject.name(cell), shade, ROOM)
        axes.set_xlabel(subject.label("x", "step"))
        axes.set_ylabel(subject.label("y", f"input to {layer}"), parse_math=False)
        _label_levels(axes, levels, shade, y)
    return figure


def _label_levels(axes: Axes, levels: Levels, shade: str, y: Axis) -> None:
    """Write `15 %` and so on right of the lines' ends, apart from each other."""
    ends = [y.fraction(y.inside(values[-1])) for _, values in levels.values()]
    style: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "size": SMALL, "color": shade}
    for statistic, height in zip(levels, spread(ends, 0.06, 0.0, 1.0), strict=True):
        axes.text(1.01, height, f"{statistic.removeprefix('p')} %", **style)


def _levels(subject: Subject, run: RunDirectory, layer: str) -> Levels:
    """Return {statistic: (steps, values)} of one layer. Raises UserError where the run recorded none."""
    levels: Levels = {}
    for row in read_rows(run.path / PROBES):
        if row["layer"] == layer:
            steps, values = levels.setdefault(row["statistic"], ([], []))
            steps.append(int(row["step"]))
            values.append(float(row["value"]))
    if not levels:
        raise subject.error(f"{run.path / PROBES} has nothing on {layer!r}; was it run with probe=percentiles?")
    return levels
