"""Numbers as a coloured table, and surfaces as filled contours. What has no value is hatched and says why."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from normexp.report.figures.chart import Chart, Numbers
from normexp.report.figures.formats import Theme
from normexp.report.figures.rows import WIDEST
from normexp.report.figures.scales import joined, set_ends, set_scale, set_ticks

MAP = "viridis"  # no grey in it, so that no value looks like none
LEVELS = 12
NONE = (math.nan, "no run")
BRIGHT = 0.55  # of the map, from where text is black
SHORTEST = 6  # letters of a line of a column's head; heads that need more than there are stand upright
FULL = 0.85  # of a cell's width that its text may take


def draw_heat(figure: Figure, ax: Axes, chart: Chart, theme: Theme) -> None:
    """Draw `z` at the names `x` and `y`; the column `text` is written there, or the number."""
    data = chart.data
    rows, columns = list(dict.fromkeys(data[chart.y])), list(dict.fromkeys(data[chart.x]))
    entries = {
        (row, column): (z, text) for row, column, z, text in data[[chart.y, chart.x, chart.z, "text"]].to_numpy()
    }
    values = np.array([[entries.get((row, column), NONE)[0] for column in columns] for row in rows], dtype=float)
    log = "z" in chart.log
    norms = [_norm(column, log) for column in values.T] if chart.by_column else [_norm(values, log)] * len(columns)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            _cell(ax, (j, i), values[i, j], entries.get((row, column), NONE)[1], norms[j])
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    wide = _room(columns, theme)
    _name_cells(ax, chart, [str(column) for column in columns], wide, theme)
    if not chart.by_column:
        _color_bar(figure, [ax], norms[0], chart.labels.get("z", chart.z), goes_on(chart))
    if max(len(part) for text in ax.texts for part in text.get_text().split("\n")) > wide:
        _fit(figure, ax)


def _name_cells(ax: Axes, chart: Chart, heads: Sequence[str], wide: int, theme: Theme) -> None:
    """Write the heads of the columns, upright or in lines of `wide` letters, and the names of the rows."""
    if letters_upright(chart, theme):
        ax.set_xticks(range(len(heads)), heads, rotation=90)
    else:
        ax.set_xticks(range(len(heads)), ["\n".join(textwrap.wrap(head, max(wide, SHORTEST))) for head in heads])
    names = row_names(chart, theme)
    ax.set_yticks(range(len(names)), names)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)


def _room(columns: Sequence[object], theme: Theme) -> int:
    """Return how many letters a column is wide, about."""
    return int(1.15 * theme.width / theme.font * 72 / 0.6 / (len(columns) + 3))


def letters_upright(chart: Chart, theme: Theme) -> int:
    """Return of how many letters the heads of columns are that stand upright; 0 where they lie, broken into lines."""
    columns = list(dict.fromkeys(chart.data[chart.x]))
    room, longest = _room(columns, theme), max(len(str(column)) for column in columns)
    return longest if room < min(longest, SHORTEST) else 0


def row_names(chart: Chart, theme: Theme) -> list[str]:
    """Return the names of the rows; long ones are broken, so that there is room for the cells."""
    names = dict.fromkeys(chart.data[chart.y])
    return ["\n".join(textwrap.wrap(str(name), int(WIDEST * theme.width / theme.font))) for name in names]


def _fit(figure: Figure, ax: Axes) -> None:
    """Make the text of all cells smaller where that of one would come to the edges of its cell.

    To know the cells' width the figure is laid out, which moves its parts a little: not for text that surely fits.
    """
    figure.draw_without_rendering()
    (left, _), (right, _) = ax.transData.transform([(0, 0), (1, 0)])
    widest = max(text.get_window_extent().width for text in ax.texts) / (right - left)
    for text in ax.texts if widest > FULL else ():
        text.set_fontsize(float(text.get_fontsize()) * FULL / widest)


def goes_on(chart: Chart) -> bool:
    """Tell whether some values lie beyond the colours' scale."""
    values = chart.data[chart.z].to_numpy(dtype=float)
    return not chart.by_column and bool(
        np.nanmax(values, initial=-math.inf) > float(_norm(values, "z" in chart.log).vmax or math.inf)
    )


def _norm(values: Numbers, log: bool) -> Normalize:
    """Return the scale of the colours; a value far above the others has the last one, and its number says more."""
    known = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = (float(known.min()), float(known[known <= _fence(known, log)].max())) if len(known) else (0.1, 1.0)
    return (LogNorm if log else Normalize)(low, high if high > low else low * 2 or 1.0)


def _fence(known: Numbers, log: bool) -> float:
    """Return where values lie far out: three times the middle half's width above it (Tukey)."""
    first, third = np.quantile(np.log(known) if log else known, (0.25, 0.75))
    far = third + 3 * (third - first) if third > first else math.inf
    return float(np.exp(far) if log else far)


def _cell(ax: Axes, place: tuple[int, int], value: float, text: str, norm: Normalize) -> None:
    corner = (place[0] - 0.5, place[1] - 0.5)
    shade = (
        float(np.clip(norm(value), 0, 1))
        if math.isfinite(value) and not (isinstance(norm, LogNorm) and value <= 0)
        else math.nan
    )
    if math.isnan(shade):
        ax.add_patch(Rectangle(corner, 1, 1, facecolor="#eeeeee", edgecolor="#808080", hatch="////", linewidth=0))
    else:
        ax.add_patch(Rectangle(corner, 1, 1, facecolor=matplotlib.colormaps[MAP](shade), edgecolor="white"))
    dark = math.isfinite(shade) and shade < BRIGHT
    box = None if math.isfinite(shade) else {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    ax.text(*place, text, ha="center", va="center", color="white" if dark else "black", fontsize="small", bbox=box)


def draw_contour(figure: Figure, axes: Mapping[str, Axes], chart: Chart) -> None:
    """Draw `z` over a regular grid of x and y, the same levels in every panel."""
    grids = {
        name: rows.pivot(index=chart.y, columns=chart.x, values=chart.z) for name, rows in chart.by_panel().items()
    }
    log = "z" in chart.log
    levels = _levels(joined([grid.to_numpy() for grid in grids.values()]), log)
    norm = (LogNorm if log else Normalize)(levels[0], levels[-1])
    for name, ax in axes.items():
        x, y = (np.asarray(side, dtype=float) for side in (grids[name].columns, grids[name].index))
        z = np.ma.masked_invalid(grids[name].to_numpy(dtype=float))
        z = np.ma.masked_where(z <= 0, z) if log else z
        for side, values, key in ((ax.xaxis, x, "x"), (ax.yaxis, y, "y")):
            set_scale(side, values, key in chart.log)
            set_ends(side, values, None, margin=0.0)
        ax.set_facecolor("#eeeeee")
        ax.contourf(x, y, z, levels=levels, norm=norm, cmap=MAP)
        ax.contour(x, y, z, levels=levels, colors="white", linewidths=0.3, linestyles="solid", alpha=0.6)
        ax.grid(visible=False)
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10])) if "x" not in chart.log else None
        if chart.also:
            chart.also(ax, name)
    _color_bar(figure, list(axes.values()), norm, chart.labels.get("z", chart.z))


def _levels(values: Numbers, log: bool) -> Numbers:
    values = values[values > 0] if log else values
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = (low / 2, 2 * high) if log else (low - 0.5, high + 0.5)
    return np.geomspace(low, high, LEVELS) if log else np.asarray(MaxNLocator(LEVELS).tick_values(low, high))


def _color_bar(figure: Figure, axes: list[Axes], norm: Normalize, label: str, beyond: bool = False) -> None:
    extend = "max" if beyond else "neither"
    bar = figure.colorbar(ScalarMappable(norm, MAP), ax=axes, fraction=0.05, pad=0.02, extend=extend)
    bar.set_label("\n".join(textwrap.wrap(label, 30)))
    bar.outline.set_visible(False)
    bar.ax.grid(visible=False)
    set_ticks(bar.ax.yaxis, float(norm.vmin or 0.0), float(norm.vmax or 1.0))
