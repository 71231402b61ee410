"""Lines that would hide each other: those on top have gaps, each at other places, through which the lowest is seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from normexp.report.figures.averages import Line
from normexp.report.figures.chart import WHOLE, Numbers

TURN = 8.0  # line widths of each dash
THICK, FEW = 0.007, 2  # of a panel's height: the width of a line, in a figure of few panels; of more it is twice that
MOST = 0.8  # of a line's way: the share that has to be covered
OPEN = 0.4  # of a dashed line: gaps from which on another one is seen through them


def turns(axes: Mapping[str, Axes], panel: str, lines: Sequence[Line]) -> dict[int, tuple[float, tuple[float, ...]]]:
    """Return dashes for the upper lines of a panel that hide each other, by number.

    The lowest of them stays whole: gaps in all of them would meet where the lines part, and look like missing values.
    Where a second panel shows the lines apart there are none.

    Args:
        axes: of every panel, with the scales and the ends that the lines are drawn in.
    """
    if panel == WHOLE:
        return {}
    ax, thick = axes[panel], THICK * (1 if len(axes) <= FEW else 2)
    ways = [_way(ax, line) for line in lines]
    groups: list[list[int]] = []
    for i, line in enumerate(lines):
        group = next((each for each in groups if _hides(line, lines[each[0]], ways[i], ways[each[0]], thick)), None)
        groups.append([i]) if group is None else group.append(i)
    return {
        i: (TURN * (1 - index), gapped(lines[i].style.dashes, len(group)))
        for group in groups
        for index, i in enumerate(group)
        if index
    }


def gapped(dashes: tuple[float, ...], count: int) -> tuple[float, ...]:
    """Return dashes that leave `count - 1` of `count` turns free; a dashed or dotted line is so in its own turn."""
    own = dashes or (TURN, 0.0)
    own *= math.ceil(TURN / sum(own))
    return (*own[:-1], count * TURN - sum(own[:-1]))


def _way(ax: Axes, line: Line) -> Numbers:
    """Return the line's points as shares of the panel's width and height."""
    points = (ax.transScale + ax.transLimits).transform(np.column_stack([line.x, line.mean]))
    return np.asarray(points, dtype=np.float64)


def _hides(upper: Line, lower: Line, over: Numbers, under: Numbers, thick: float) -> bool:
    """Tell whether a line covers most of one that was drawn before it."""
    if upper.behind or lower.behind or not upper.style.width or _seen_through(upper, lower):
        return False
    if len(over) < 2 or len(under) < 2:
        return False
    places = np.union1d(over[:, 0], under[:, 0])
    places = places[(places >= under[0, 0]) & (places <= under[-1, 0])]
    ups, downs = (np.interp(places, way[:, 0], way[:, 1], np.nan, np.nan) for way in (over, under))
    shown = (downs >= -thick) & (downs <= 1 + thick)
    covered = np.abs(ups - downs) <= thick
    steps = np.diff(places)
    visible = steps * (shown[1:] & shown[:-1])
    return float((visible * (covered[1:] & covered[:-1])).sum()) > MOST * float(visible.sum()) > 0


def _seen_through(upper: Line, lower: Line) -> bool:
    """Tell whether the upper line's dashes have gaps wide enough to show a lower one that has other dashes."""
    dashes = upper.style.dashes
    return dashes != lower.style.dashes and bool(dashes) and sum(dashes[1::2]) >= OPEN * sum(dashes)
