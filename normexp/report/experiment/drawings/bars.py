"""One number per arm: a dot per seed, the mean, its 95 % interval; in groups by an axis of the grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from normexp.evidence.curves import Cell
from normexp.report.experiment.drawings.axis import Axis, beyond_note, set_x
from normexp.report.experiment.drawings.intervals import Centre, centre, meaning
from normexp.report.experiment.drawings.rows import Row, row_figure
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.layout import SMALL
from normexp.report.measurements import is_share, title


def bars(subject: Subject) -> Figure:
    metric, log = subject.spec["metric"], subject.log("x")
    ordered = list(_ordered(subject))
    found = {cell: centre(subject.values(cell, metric), log) for _, cell in ordered if cell is not None}
    shown = [np.array([*each.values, each.mean, each.low, each.high]) for each in found.values()]
    x = Axis.over(shown, log, subject.limits("x", metric) or subject.limits("y", metric), share=is_share(metric))
    short = any(each.lost for each in found.values())
    captions = subject.captions(meaning(log, list(found.values())), beyond_note([x]))
    figure, axes, heights = row_figure(subject, [row for row, _ in ordered], captions, right=0.95 if short else 0.35)
    set_x(axes, x)
    at = subject.spec.get("at", "last")
    axes.set_xlabel(subject.label("x", title(metric) + ("" if at == "last" else f", {at}")), parse_math=False)
    for height, (_, cell) in zip(heights, ordered, strict=True):
        if cell is not None:
            _draw(axes, x, height, subject.row_color(cell), found[cell])
    return figure


def _ordered(subject: Subject) -> Iterator[tuple[Row, Cell | None]]:
    """Yield every row: with an axis a heading for each of its values, below it the arms."""
    axis, cells = subject.spec.get("axis"), [cell for cell in subject.cells if cell in subject.runs]
    if axis is None:
        yield from ((Row(subject.name(cell), subject.row_color(cell)), cell) for cell in cells)
        return
    for value in dict.fromkeys(dict(cell.point)[axis] for cell in cells):
        yield Row(f"{subject.label(axis)} = {value}", "black", heading=True), None
        for cell in cells:
            if dict(cell.point)[axis] == value:
                yield Row(subject.name(cell, without=axis), subject.row_color(cell)), cell


def _draw(axes: Axes, x: Axis, height: float, color: str, found: Centre) -> None:
    style: dict[str, Any] = {"color": color, "clip_on": True}
    axes.plot(
        x.place(np.array(found.values)), [height - 0.17] * len(found.values), "o", markersize=2.2, alpha=0.55, **style
    )
    if math.isfinite(found.low):
        axes.hlines(height + 0.1, found.low, found.high, color=color, linewidth=1.1)
    axes.plot(x.at(found.mean), height + 0.1, "o", markersize=4.5, **style)
    if found.lost:
        place = {"transform": axes.get_yaxis_transform(), "va": "center", "size": SMALL, "color": color}
        axes.text(1.02, height, found.counted, **place)  # type: ignore[arg-type]
