"""Marks in rows, a name each: points with a median, intervals with a mean, stacked bars."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from normexp.report.figures.averages import summary
from normexp.report.figures.chart import Chart, Numbers
from normexp.report.figures.formats import Theme
from normexp.report.figures.lines import draw_reference
from normexp.report.figures.scales import joined, set_ends, set_scale
from normexp.report.figures.styles import NEUTRAL, LineStyle

NEVER, WIDTH = 1.04, 0.14  # of the panel's width: where the place of what never happens begins, how wide it is
APART = (0.0, 0.15, -0.15, 0.3, -0.3, 0.075, -0.075)  # of a row: where runs with the same value lie
CLEAR = 5  # of these, how many keep clear of each other: what never happens has room for so many beside each other, too
BAR, SHORT = 20.0, 11.0  # points that a median is high: of rows with one colour, of several
MOST_ROWS = 200  # of more nobody looks at each, and a file holds so many pixels in height
WIDEST = 60  # letters of a name, for a figure as many inches wide as its text has points
NARROW = 0.045  # of the largest sum: a part that has no room for its number
PLAIN = LineStyle(NEUTRAL)
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Row:
    """One row; a heading, and what says how many more there are, has a name only."""

    name: str
    data: pd.DataFrame | None


def rows_of(chart: Chart, theme: Theme) -> list[Row]:
    """Return the rows from top to bottom, each group under its heading; long names are broken.

    Of very many the first are shown, and how many more there are.
    """
    width = int(WIDEST * theme.width / theme.font)
    groups = chart.data.groupby(chart.group, sort=False) if chart.group else [("", chart.data)]
    rows = []
    for heading, group in groups:
        rows += [Row(str(heading), None)] if chart.group else []
        named = ((textwrap.wrap(str(name), width), each) for name, each in group.groupby(chart.y, sort=False))
        rows += [Row("\n".join(name), each) for name, each in named]
    more = sum(row.data is not None for row in rows[MOST_ROWS:])
    return [*rows[:MOST_ROWS], Row(f"and {more:,} more", None)] if more else rows


def draw_rows(ax: Axes, chart: Chart, theme: Theme) -> None:
    rows = rows_of(chart, theme)
    _name_rows(ax, rows)
    values = chart.data[chart.x].to_numpy(dtype=float)
    log = "x" in chart.log
    if chart.mark == "bar":
        _bars(ax, chart, rows)
        set_ends(ax.xaxis, joined([np.array([0.0, _largest_sum(chart, rows)])]), None, margin=0.0)
        return
    parts = [part for i, row in enumerate(rows) if row.data is not None for part in _row(ax, chart, row.data, i, theme)]
    shown = joined([values, np.array([r.at for r in chart.references]), *parts])
    shown = np.append(shown, 0.0) if chart.mark == "point" and not log else shown
    here = chart.panel_of("")
    set_scale(ax.xaxis, shown, log, here.x)
    set_ends(ax.xaxis, shown, here.x, possible=here.possible)
    for reference in chart.references:
        draw_reference(ax, reference, "x", theme)
    if chart.mark == "point" and np.isinf(values).any():
        _never(ax)


def _name_rows(ax: Axes, rows: list[Row]) -> None:
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.tick_params(axis="y", length=0)
    for tick, row in zip(ax.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if row.data is None else "normal")


def _row(ax: Axes, chart: Chart, data: pd.DataFrame, height: int, theme: Theme) -> list[Numbers]:
    """Draw one row, its colours one below the other; return the ends of its intervals."""
    if not chart.colour:
        style = chart.styles.get(str(data[chart.y].iloc[0]), PLAIN)
        return [_sample(ax, chart, data, height, style, theme)]
    names = data[chart.colour].astype(str)
    here = [name for name in chart.styles if (names == name).any()]
    step = min(0.32, 0.8 / max(len(here), 1)) if len(here) > 1 else 0.0
    heights = [height + (i - (len(here) - 1) / 2) * step for i in range(len(here))]
    return [
        _sample(ax, chart, data[names == name], at, chart.styles[name], theme)
        for name, at in zip(here, heights, strict=True)
    ]


def _sample(ax: Axes, chart: Chart, data: pd.DataFrame, height: float, style: LineStyle, theme: Theme) -> Numbers:
    """Draw the runs of one arm, and their median or their mean with its interval; return how far they reach."""
    values = data[chart.x].to_numpy(dtype=float)
    ended = data["ended"].to_numpy(dtype=bool) if "ended" in data else np.zeros(len(values), dtype=bool)
    known = values[np.isfinite(values)]
    if chart.mark == "point":
        _dots(ax, values, ended, height, style, 3.2 * theme.lines, apart=True)
        _median(ax, values, height, style, theme, SHORT if chart.colour else BAR)
        return known
    alone = len(known) == 1 or (len(known) > 0 and np.ptp(known) == 0)
    if not alone:
        _dots(ax, values, ended, height + 0.16, style, 2.4 * theme.lines)
    if ended.any() or not len(known):
        count = f"{int(ended.sum())} of {len(values)} diverged" if ended.any() else "no value"
        beside: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "va": "center"}
        ax.annotate(count, (1.0, height), (3, 0), fontsize="small", color=style.color, **beside)
    return _interval(ax, chart, known, height, style, theme)


def _median(ax: Axes, values: Numbers, height: float, style: LineStyle, theme: Theme, tall: float) -> None:
    middle = float(np.median(values)) if not np.isnan(values).any() else math.nan
    bar: dict[str, Any] = {"marker": "|", "markersize": tall * theme.lines, "markeredgewidth": 2.2 * theme.lines}
    _put(ax, middle, height, color=style.color, alpha=0.5, **bar)


def _interval(ax: Axes, chart: Chart, known: Numbers, height: float, style: LineStyle, theme: Theme) -> Numbers:
    """Draw the mean with its interval; return the ends."""
    centre = summary(known, chart.band, "x" in chart.log, chart.panel_of("").possible)
    ends = np.array([centre.low, centre.high])
    if math.isfinite(ends[0]):
        ax.hlines(height, *ends, color=style.color, linewidth=1.2 * theme.lines)
    inside = "white" if centre.median else style.color
    ax.plot(centre.mean, height, style.marker or "o", color=style.color, markersize=4.6 * theme.lines, mfc=inside)
    return ends


def _dots(
    ax: Axes, values: Numbers, ended: Flags, height: float, style: LineStyle, size: float, apart: bool = False
) -> None:
    """Draw a dot per run, equal ones apart where that is asked for; a run that diverged is a cross."""
    so_far: Counter[float] = Counter()
    for value, diverged in zip(values.tolist(), ended.tolist(), strict=True):
        column, line = divmod(so_far[value], CLEAR if math.isinf(value) else len(APART))
        so_far[value] += apart
        beside, mark = APART[column % CLEAR], "x" if diverged else "o"
        at = height + APART[line]
        _put(ax, value, at, beside, color=style.color, marker=mark, alpha=0.7, markersize=size, linestyle="")


def _put(ax: Axes, value: float, height: float, beside: float = 0.0, **style: Any) -> None:
    """Draw a mark at a value, or at the place of what never happens, `beside` its middle by a share of its width."""
    if math.isfinite(value):
        ax.plot(value, height, **style)
    elif math.isinf(value) and value > 0:
        at = NEVER + WIDTH * (0.5 + beside)
        ax.plot(at, height, clip_on=False, transform=ax.get_yaxis_transform(), **style)


def _never(ax: Axes) -> None:
    grey: dict[str, Any] = {"facecolor": "#f0f0f0", "edgecolor": "none", "zorder": 0, "clip_on": False}
    ax.add_patch(Rectangle((NEVER, 0), WIDTH, 1, transform=ax.transAxes, **grey))
    below: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top", "ha": "center"}
    ax.annotate("never", (NEVER + WIDTH / 2, 0), (0, -4), fontsize="small", **below)


def _largest_sum(chart: Chart, rows: list[Row]) -> float:
    return max(float(row.data[chart.x].sum()) for row in rows if row.data is not None)


def _bars(ax: Axes, chart: Chart, rows: list[Row]) -> None:
    """Stack one part per colour, each with its number."""
    whole = _largest_sum(chart, rows)
    for height, data in ((height, row.data) for height, row in enumerate(rows) if row.data is not None):
        left = 0.0
        for name, style in chart.styles.items():
            size = float(data.loc[data[chart.colour] == name, chart.x].sum())
            ax.barh(height, size, left=left, color=style.color, edgecolor="white", height=0.62)
            if size > NARROW * whole:
                ax.text(left + size / 2, height, f"{size:g}", color="white", ha="center", va="center", fontsize="small")
            elif size:
                ax.text(left + size / 2, height - 0.34, f"{size:g}", color=style.color, ha="center", fontsize="small")
            left += size
