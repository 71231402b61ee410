"""One panel of a figure: the curves of one metric on one data set and model, drawn into given axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from normexp.report.colors import Look
from normexp.report.curves import Curve
from normexp.report.ends import End, fit, write_ends
from normexp.report.layout import PANEL_HEIGHT
from normexp.report.limits import Limits, limits
from normexp.report.measurements import is_share, title


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
        write_ends(axes, _ends(metric, curves, looks), PANEL_HEIGHT)


def labels_fit(metric: str, curves: Sequence[Curve], looks: Mapping[str, Look]) -> bool:
    """Tell whether every line can carry its name; otherwise a legend has to."""
    return fit(_ends(metric, curves, looks), PANEL_HEIGHT)


def _set_limits(axes: Axes, metric: str, curves: Sequence[Curve]) -> None:
    y = limits(metric, curves)
    axes.set_yscale("log" if y.log else "linear")
    axes.set_ylim(y.low, y.high)
    axes.set_xlim(0, _last_step(curves))


def _last_step(curves: Sequence[Curve]) -> int:
    steps = [point.step for curve in curves for point in curve.points]
    return max([1, *steps, *(mark.step for curve in curves for mark in curve.marks)])


def _band(axes: Axes, curve: Curve, look: Look) -> None:
    """Shade the spread over seeds where two seeds or more are left and the mean is in view.

    Below a mean of little more than its standard deviation, mean - sd is near 0: at the foot of a logarithmic
    axis, where no seed ever was. There the band goes from the lowest to the highest seed.
    """
    bottom, top = axes.get_ylim()
    log = axes.get_yscale() == "log"
    bands = [point.reach if log else point.deviation for point in curve.points]
    axes.fill_between(
        [point.step for point in curve.points],
        [max(low, bottom) for low, _ in bands],
        [max(high, bottom) for _, high in bands],
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


def _ends(metric: str, curves: Sequence[Curve], looks: Mapping[str, Look]) -> list[End]:
    y, last = limits(metric, curves), _last_step(curves)
    return [_end(curve, looks[curve.arm.short].color, y, last) for curve in curves]


def _end(curve: Curve, color: str, y: Limits, last: int) -> End:
    """Return the end of the line (or its last cross) in fractions of the panel, inside it."""
    finite = [(point.step, point.mean) for point in curve.points if math.isfinite(point.mean)]
    finite = finite or [(mark.step, y.high) for mark in curve.marks] or [(0, y.high)]
    step, value = finite[-1]
    return End(curve.text, color, round(step / last, 6), min(max(y.fraction(value), 0.0), 1.0))
