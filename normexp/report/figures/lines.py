"""Marks over numbers: lines with bands, lines with error bars, crosses where runs diverged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from matplotlib.transforms import Affine2D, ScaledTranslation, Transform

from normexp.report.figures.averages import Line, lines_of
from normexp.report.figures.chart import Chart, Numbers, Panel, Range, Reference
from normexp.report.figures.formats import Theme
from normexp.report.figures.hidden import turns
from normexp.report.figures.scales import GREY, joined, reach, set_ends, set_scale

SHIFT, MOST_SHIFT = 2.2, 0.1  # points between the error bars of two lines; of a step, how far they are moved at most
TICK = 4.0  # text sizes between two ticks of the horizontal axis
LETTER = 0.42  # text sizes that a letter of a tick is wide
NEAR = 0.004  # of a panel's width: points nearer to its sides have markers that a side would cut
CROSS, CROSSES = 5.5, 0.25  # points between two crosses at one place; of a step, how far they are moved at most
MARK = 3.0  # points that a mark reaches to its side
FEW = 12  # points of a line with a marker each; of longer ones every seventh part has one


def draw_lines(axes: Mapping[str, Axes], chart: Chart, theme: Theme) -> dict[str, Sequence[Line]]:
    """Draw every panel; return its lines."""
    lines = _set_all(axes, chart, theme)
    for panel, ax in axes.items():
        if chart.also:
            chart.also(ax, panel)
        dashes = turns(axes, panel, lines[panel])
        moved = _shifts(ax, chart, lines[panel], theme)
        for i, line in enumerate(lines[panel]):
            drawn = _draw(ax, chart, line, theme, moved[i])
            if i in dashes:
                drawn.set_linestyle(dashes[i])
        here = chart.panel_of(panel)
        shifts = _side_by_side(ax, chart, here, lines[panel], theme)
        for i, line in enumerate(lines[panel]):
            _crosses(ax, line, here, shifts[i], theme)
            _triangles(ax, here, line, theme, moved[i])
        for reference in chart.references:
            draw_reference(ax, reference, reference.axis, theme)
    return lines


def _shifts(ax: Axes, chart: Chart, lines: Sequence[Line], theme: Theme) -> list[float]:
    """Return by which share of the panel's width the marks of each line are moved, so that none hides another.

    That is at most a tenth of the way from one place to the next: whoever reads the axis is not misled.
    """
    named = [i for i, line in enumerate(lines) if not line.behind]
    shifts = [0.0] * len(lines)
    if chart.mark == "interval" and len(named) > 1:
        most = MOST_SHIFT * _step(ax, lines)
        step = min(SHIFT * theme.lines / width_of(ax, theme), 2 * most / (len(named) - 1))
        for order, i in enumerate(named):
            shifts[i] = (order - (len(named) - 1) / 2) * step
    return shifts


def _step(ax: Axes, lines: Sequence[Line]) -> float:
    """Return the smallest distance between two places of the lines, as a share of the panel's width."""
    places = np.unique(
        joined([*(line.x for line in lines), *(np.array([x for x, _ in each.crosses]) for each in lines)])
    )
    across = (ax.transScale + ax.transLimits).transform(np.column_stack([places, np.ones(len(places))]))[:, 0]
    return float(np.diff(across).min(initial=math.inf))


def width_of(ax: Axes, theme: Theme) -> float:
    """Return a panel's width in points, before its labels take their room."""
    return float(ax.get_position().width * theme.width * 72)


def _moved(ax: Axes, share: float) -> Transform:
    """Return the place of data, moved to the right by a share of the panel's width."""
    return ax.transScale + ax.transLimits + Affine2D().translate(share, 0) + ax.transAxes


def _shifted(ax: Axes, points: float) -> Transform:
    return ax.transData + ScaledTranslation(points / 72, 0, ax.figure.dpi_scale_trans)


def _set_all(axes: Mapping[str, Axes], chart: Chart, theme: Theme) -> dict[str, Sequence[Line]]:
    """Set scales and ends of all panels; return their lines."""
    lines = {panel: lines_of(chart, panel) for panel in axes}
    ends = _vertical_ends(chart, lines)
    for panel, ax in axes.items():
        _set_axes(ax, chart, panel, lines, ends[panel], theme)
    return lines


def takes_turns(chart: Chart) -> bool:
    """Tell whether in any panel lines would hide each other and so take turns."""
    panels = list(chart.by_panel())
    axes = dict(zip(panels, Figure().subplots(1, len(panels), squeeze=False)[0], strict=True))
    lines = _set_all(axes, chart, Theme())
    return any(turns(axes, panel, lines[panel]) for panel in panels)


def draw_reference(ax: Axes, reference: Reference, axis: str, theme: Theme) -> None:
    """Draw a line at a value of one axis, and its name at the end, outside the panel: no curve runs through it."""
    line: dict[str, Any] = {"color": GREY.color, "dashes": GREY.dashes, "linewidth": GREY.width * theme.lines}
    name: dict[str, Any] = {"textcoords": "offset points", "color": GREY.color, "fontsize": "small", "ha": "left"}
    if axis == "y":
        ax.axhline(reference.at, zorder=0.9, **line)
        ax.annotate(reference.text, (1.0, reference.at), (4, 0), xycoords=ax.get_yaxis_transform(), va="center", **name)
    else:
        ax.axvline(reference.at, zorder=0.9, **line)
        ax.annotate(reference.text, (reference.at, 1.0), (2, 0), xycoords=ax.get_xaxis_transform(), va="bottom", **name)


def _vertical_ends(chart: Chart, lines: Mapping[str, Sequence[Line]]) -> dict[str, Range]:
    """Return from where to where the vertical axis of every panel goes: the same for panels with the same label."""
    own = {panel: _reach(chart, panel, each) for panel, each in lines.items()}
    if chart.share_y == "none":
        return own
    shared = {}
    for name in own:
        label = chart.panel_of(name).y_label
        together = [own[other] for other in own if chart.panel_of(other).y_label == label]
        shared[name] = (min(low for low, _ in together), max(high for _, high in together))
    return shared


def _reach(chart: Chart, panel: str, lines: Sequence[Line]) -> Range:
    edges = [edge for line in lines for edge in (line.low, line.high)]
    edges += [chart.also_reach[panel][1]] if panel in chart.also_reach else []
    edges += [np.array([reference.at]) for reference in chart.references if reference.axis == "y"]
    means = [line.mean for line in lines]
    if not any(np.isfinite(mean).any() for mean in means):
        means = [np.array([y for _, y in line.crosses]) for line in lines]
    return reach(chart, panel, means, edges, [line.top for line in lines], any(line.crosses for line in lines))


def _set_axes(
    ax: Axes, chart: Chart, panel: str, lines: Mapping[str, Sequence[Line]], ends: Range, theme: Theme
) -> None:
    here = chart.panel_of(panel)
    across = [line.x for each in lines.values() for line in each]
    across += [np.array([x for x, _ in line.crosses]) for each in lines.values() for line in each]
    x = joined([*across, *(each[0] for each in chart.also_reach.values())])
    y = joined([part for line in lines[panel] for part in (line.mean, line.low, line.high)])
    y = y[(y >= ends[0]) & (y <= ends[1])]
    set_scale(ax.xaxis, x, chart.log_in("x", panel), here.x)
    set_scale(ax.yaxis, joined([y, np.array(ends)]), chart.log_in("y", panel), here.y)
    wide = width_of(ax, theme)
    most = int(wide / (TICK * theme.font))
    set_ends(ax.xaxis, x, here.x, _margin(chart, lines, theme, wide), min(max(most, 3), 9))
    several = 9 if len(lines) < 3 else 5
    values, narrow = joined([np.array(ends)]), bool(chart.unfinished)
    set_ends(ax.yaxis, values, here.y, most=several, possible=here.possible, narrow=narrow)
    if chart.ticks:
        ticks = dict(sorted(chart.ticks.items()))
        ax.set_xticks(list(ticks), _written(ax, ticks, theme))
        ax.xaxis.set_minor_locator(NullLocator())


def _margin(chart: Chart, lines: Mapping[str, Sequence[Line]], theme: Theme, wide: float) -> float:
    """Return the share of the horizontal axis that stays free at its ends: room for marks that are shifted.

    Args:
        wide: the panel, in points.
    """
    if chart.mark != "interval":
        return 0.0
    most = max(sum(not line.behind for line in each) for each in lines.values())
    return max(0.05, ((most - 1) / 2 * SHIFT + MARK) * theme.lines / wide)


def _written(ax: Axes, ticks: Mapping[float, str], theme: Theme) -> list[str]:
    """Return the ticks' texts, as many of them empty as those beside them need the room, at even distances.

    Args:
        ticks: place -> text, in ascending order.
    """
    places = (ax.transScale + ax.transLimits).transform([(tick, 1.0) for tick in ticks])[:, 0]
    room = width_of(ax, theme) / (LETTER * theme.font)  # letters
    texts = list(ticks.values())
    for every in range(1, len(texts)):
        kept = list(zip(places, texts, strict=True))[::every]
        if all(room * (b - a) > (len(one) + len(other)) / 2 + 1 for (a, one), (b, other) in pairwise(kept)):
            return [text if i % every == 0 else "" for i, text in enumerate(texts)]
    return texts[:1] + [""] * (len(texts) - 1)


def _draw(ax: Axes, chart: Chart, line: Line, theme: Theme, shift: float) -> Line2D:
    """Draw a line with its band, bars and markers; return the line itself, without what lies on it."""
    style = line.style.line | {"linewidth": line.style.width * theme.lines}
    if line.behind:
        return ax.plot(line.x, line.mean, zorder=1.5, **style)[0]
    few = len(line.x) <= FEW
    if chart.mark == "interval":
        moved = _moved(ax, shift)
        ax.vlines(
            line.x, line.low, line.high, color=line.style.color, linewidth=theme.lines, alpha=0.7, transform=moved
        )
        marker = line.style.marker or "o"
        (drawn,) = ax.plot(line.x, line.mean, transform=moved, **(style | {"marker": marker}))
        hollow: dict[str, Any] = {"color": line.style.color, "markerfacecolor": "white", "zorder": 3}
        ax.plot(line.x[line.median], line.mean[line.median], marker, transform=moved, **hollow)
        return drawn
    shown = np.isfinite(line.low) & np.isfinite(line.high)
    if shown.any():
        ax.fill_between(line.x, line.low, line.high, where=shown, color=line.style.color, alpha=0.15, linewidth=0)
    if len(line.x) == 1:
        style["marker"] = line.style.marker or "o"
    (drawn,) = ax.plot(line.x, line.mean, markevery=1 if few else 0.14, **style)
    _ends(ax, line, style, 2 if few else 1)
    return drawn


def _ends(ax: Axes, line: Line, style: dict[str, Any], count: int) -> None:
    """Draw the markers of a line's first and last point whole where they lie on a side, which cuts them in half."""
    places = (ax.transScale + ax.transLimits).transform(np.column_stack([line.x, line.mean]))
    for i in range(-1, 1)[-count:] if len(places) else ():  # a statistic that an arm lacks has no points
        if style["marker"] not in ("", "None") and abs(places[i, 0] - 0.5) > 0.5 - NEAR and 0 <= places[i, 1] <= 1:
            mark = {key: value for key, value in style.items() if key != "dashes"}
            ax.plot(line.x[[i]], line.mean[[i]], linestyle="", clip_on=False, zorder=3, **mark)


def _triangles(ax: Axes, panel: Panel, line: Line, theme: Theme, shift: float) -> None:
    """Mark at the panel's top where a line, its band or its bar is beyond it; not where the author set the top."""
    high = max(ax.get_ylim())
    beyond = line.beyond(high)
    if panel.y or line.behind or not beyond.any():
        return
    places = np.flatnonzero(beyond)
    for group in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        peak = line.x[group[np.argmax(line.reach[group])]]
        style = {"markersize": 6 * theme.lines, "color": line.style.color, "clip_on": False, "zorder": 5}
        ax.plot(peak, high, "^", transform=_moved(ax, shift), **style)  # type: ignore[arg-type]


def _side_by_side(ax: Axes, chart: Chart, here: Panel, lines: Sequence[Line], theme: Theme) -> list[list[float]]:
    """Return by how many points each cross of each line is shifted: those of several at one place stand apart.

    One place is one x where lines have bars; elsewhere it is what a cross covers, and none leaves the panel's sides.
    """
    extent = ax.get_window_extent()
    step = CROSS * theme.lines
    size: Numbers = np.array([extent.width, extent.height]) * 72 / ax.figure.dpi
    bars = chart.mark == "interval"
    most = 2 * CROSSES * _step(ax, lines) * size[0]
    reach = np.array([1e-6, math.inf] if bars else [step, step])
    groups: list[tuple[Numbers, list[int]]] = []  # place in points, the lines that have crosses there
    found: list[tuple[int, Numbers, tuple[Numbers, list[int]]]] = []
    for i, line in enumerate(lines):
        for cross in line.crosses:
            point = (ax.transScale + ax.transLimits).transform(_inside(ax, cross, here)) * size
            group = next((each for each in groups if (abs(each[0] - point) < reach).all()), None)
            if group is None:
                groups.append(group := (point, []))
            if i not in group[1]:
                group[1].append(i)
            found.append((i, point, group))
    shifts: list[list[float]] = [[] for _ in lines]
    for i, point, (place, there) in found:
        apart = min(step, most / max(len(there) - 1, 1)) if bars else step
        span = (len(there) - 1) * apart
        first = place[0] - span / 2 if bars else min(max(place[0] - span / 2, 0), size[0] - span)
        shifts[i].append(first + there.index(i) * apart - point[0])
    return shifts


def _inside(ax: Axes, cross: tuple[float, float], here: Panel) -> tuple[float, float]:
    """Return where a cross is drawn: at the panel's edge where its value is beyond it, at the worse one of no value."""
    low, high = ax.get_ylim()
    return cross[0], min(max(cross[1] if math.isfinite(cross[1]) else here.worst, low), high)


def _crosses(ax: Axes, line: Line, here: Panel, shifts: Sequence[float], theme: Theme) -> None:
    """Draw the crosses of a line."""
    for cross, shift in zip(line.crosses, shifts, strict=True):
        x, place = _inside(ax, cross, here)
        style = {"markersize": 6 * theme.lines, "markeredgewidth": 1.6 * theme.lines, "zorder": 5}
        ax.plot(x, place, "x", color=line.style.color, clip_on=False, transform=_shifted(ax, shift), **style)  # type: ignore[arg-type]
