"""One panel of a figure: the curves of one metric on one data set and model, drawn into given axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from normexp.report.colors import Look
from normexp.report.curves import Curve
from normexp.report.limits import limits
from normexp.report.measurements import is_share, title
from normexp.report.spread import spread

LABEL_GAP = 0.075  # of the panel's height, between the centres of two labels
LABEL_X, LEADER_X = 1.05, 1.04  # of the panel's width: where a label starts, where its leader ends


def draw(axes: Axes, metric: str, curves: Sequence[Curve], looks: Mapping[str, Look], labelled: bool) -> None:
    """Draw bands, lines, marks of divergence and, where `labelled`, a label at the end of each line."""
    axes.set_xlabel("step")
    axes.set_ylabel(title(metric))
    _set_limits(axes, metric, curves)
    for curve in curves:
        _band(axes, curve, looks[curve.arm.short])
    for curve in curves:
        _line(axes, curve, looks[curve.arm.short])
    for curve in curves:
        _marks(axes, curve, looks[curve.arm.short], lost_at_top=not is_share(metric))
    if labelled:
        _labels(axes, curves, looks)


def _set_limits(axes: Axes, metric: str, curves: Sequence[Curve]) -> None:
    y = limits(metric, curves)
    axes.set_yscale("log" if y.log else "linear")
    axes.set_ylim(y.low, y.high)
    steps = [point.step for curve in curves for point in curve.points]
    axes.set_xlim(0, max([1, *steps, *(mark.step for curve in curves for mark in curve.marks)]))


def _band(axes: Axes, curve: Curve, look: Look) -> None:
    """Shade mean +- one standard deviation where two seeds or more are left and the mean is in view."""
    bottom, top = axes.get_ylim()
    axes.fill_between(
        [point.step for point in curve.points],
        [max(point.mean - point.spread, bottom) for point in curve.points],
        [max(point.mean + point.spread, bottom) for point in curve.points],
        where=[math.isfinite(point.spread) and point.mean <= top for point in curve.points],
        color=look.color,
        alpha=0.15,
        linewidth=0,
    )


def _line(axes: Axes, curve: Curve, look: Look) -> None:
    several = len(curve.points) > 1
    (line,) = axes.plot(
        [point.step for point in curve.points],
        [point.mean for point in curve.points],
        color=look.color,
        marker=look.marker or ("" if several else "."),
        markevery=0.15 if several else None,
    )
    if look.dashes:
        line.set_dashes(look.dashes)


def _marks(axes: Axes, curve: Curve, look: Look, lost_at_top: bool) -> None:
    """Cross where runs diverged; on the panel's edge where the value lies beyond it or there is none."""
    bottom, top = axes.get_ylim()
    lost = top if lost_at_top else bottom
    steps = [mark.step for mark in curve.marks]
    values = [lost if mark.value is None else min(max(mark.value, bottom), top) for mark in curve.marks]
    style = {"markersize": 6, "markeredgewidth": 1.6, "clip_on": False, "zorder": 5}
    axes.plot(steps, values, "x", color=look.color, **style)  # type: ignore[arg-type]


def _labels(axes: Axes, curves: Sequence[Curve], looks: Mapping[str, Look]) -> None:
    """Write each line's name right of the panel, joined to the line's end by a thin leader."""
    ends = [_end(axes, curve) for curve in curves]
    places = spread([y for _, y in ends], LABEL_GAP, 0.0, 1.0)
    style = {"linewidth": 0.5, "alpha": 0.7, "clip_on": False, "transform": axes.transAxes}
    for curve, (x, y), place in zip(curves, ends, places, strict=True):
        color = looks[curve.arm.short].color
        dots = "-" if x == 1.0 else (0, (1, 4))  # a solid leader inside the panel would look like data
        axes.plot([x, LEADER_X], [y, place], color=color, linestyle=dots, **style)  # type: ignore[arg-type]
        axes.text(LABEL_X, place, curve.text, color=color, va="center", transform=axes.transAxes, parse_math=False)


def _end(axes: Axes, curve: Curve) -> tuple[float, float]:
    """Return the end of the line (or its last cross) in fractions of the panel, inside it."""
    finite = [(point.step, point.mean) for point in curve.points if math.isfinite(point.mean)]
    finite = finite or [(mark.step, axes.get_ylim()[1]) for mark in curve.marks] or [(0, axes.get_ylim()[1])]
    x, y = axes.transAxes.inverted().transform(axes.transData.transform(finite[-1]))
    return float(min(max(x.round(6), 0.0), 1.0)), float(min(max(y, 0.0), 1.0))
