"""A chart as a matplotlib figure: panels, title, axis labels, names of lines. matplotlib lays it out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from normexp.report.figures.averages import Line
from normexp.report.figures.chart import Chart
from normexp.report.figures.formats import Theme
from normexp.report.figures.heat import draw_contour, draw_heat, letters_upright, row_names
from normexp.report.figures.lines import draw_lines, width_of
from normexp.report.figures.rows import NEVER, WIDTH, draw_rows, rows_of

MOST_LABELS = 8  # lines that are named at their ends
MOST_NAMES = 200  # of a legend: of more lines none can be told apart, and a file holds so many pixels in height
APART = 1.35  # line heights between two names at ends
ASPECT = {1: 0.56, 2: 0.72}  # height over width of a panel, by panels in a row; more of them are higher
NARROWEST = 0.215  # inches of width that a panel needs, per point of text size
FREE = 0.2  # inches of a legend below that the usual height has room for
LOWEST = 15.0  # text sizes that a panel with its labels is high at least
LINE, POINTS = 1.9, 2.6  # of a row's height, in text sizes; of one with several points at one place
UPRIGHT = 0.55  # of a text size: a letter of a head that stands upright
SMALL = 0.7  # of the room of a letter: that of a letter of a row's name
LETTERS = 112  # of a line, for a figure as many inches wide as its text has points
NAME, SAMPLE = 60, 8  # letters of a line of a legend, at most, and of its sample of a line
WIDE_LETTER = 0.52  # of the size of a text: the width of a letter
LENGTH = 2.6  # of a sample of a line, in text sizes, at least
SMALLER = 0.85  # a legend's text beside the figure's
BESIDE = 0.34  # of the figure's width that names at the ends of lines may take
EDGE = 0.008  # of the figure's width that stays empty at its left and right


def draw(chart: Chart, theme: Theme) -> Figure:
    """Return the figure. Its settings are in force, see formats.images."""
    names = list(chart.by_panel())
    columns = min(len(names), _columns(chart.columns or len(names), theme, chart.columns > 0))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(theme.width, _height(chart, theme, rows, columns)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(rect=(EDGE, 0.0, 1 - 2 * EDGE, 1.0))  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in grid[len(names) :]:
        spare.set_axis_off()
    axes = dict(zip(names, grid, strict=False))
    lines: dict[str, Sequence[Line]] = {}
    if chart.mark == "heat":
        draw_heat(figure, axes[names[0]], chart, theme)
    elif chart.mark == "contour":
        draw_contour(figure, axes, chart)
    elif chart.has_rows:
        draw_rows(axes[names[0]], chart, theme)
    else:
        lines = draw_lines(axes, chart, theme)
    _write(figure, chart, axes, columns, theme)
    _name(figure, chart, axes, lines, theme, grid[-1] if len(grid) > len(names) else None)
    return figure


def _columns(panels: int, theme: Theme, together: bool = False) -> int:
    """Return as many panels in a row as are wide enough for their text.

    Args:
        together: whether the panels are one row of several; where they do not fit, each of its parts is as long.
    """
    fit = max(1, int(theme.width / (NARROWEST * theme.font)))
    if panels <= fit:
        return panels
    if together:
        return max(count for count in range(1, fit + 1) if panels % count == 0)
    return min(fit, -(-panels // -(-panels // fit)))


def _height(chart: Chart, theme: Theme, rows: int, columns: int) -> float:
    text = theme.font / 72
    if chart.mark == "heat":
        names = row_names(chart, theme)
        cell = max(2.6, 1.3 * max(name.count("\n") + 1 for name in names))
        return text * (max(cell * len(names) + 7, 18) + UPRIGHT * letters_upright(chart, theme))
    if chart.has_rows:
        several = 0.62 * len(chart.styles) if chart.colour and chart.mark != "bar" else 1.0
        several = max(several, 0.6 * max(row.name.count("\n") + 1 for row in rows_of(chart, theme)), 1.0)
        line = POINTS if chart.mark == "point" and not chart.colour else LINE
        return text * (line * several * len(rows_of(chart, theme)) + 6 + 2 * bool(chart.styles))
    aspect = ASPECT.get(columns, 0.85)
    panel = max(aspect * theme.width / columns, LOWEST * text)
    title = _title(chart, theme)
    heads = [
        _head(chart, name, theme, columns).count("\n") + len(chart.panel_of(name).shown) for name in chart.by_panel()
    ]
    more = sum(max(heads[start : start + columns]) for start in range(0, len(heads), columns))
    return rows * panel + text * (1.6 * (title.count("\n") + bool(title)) + 1.2 * more + 1.5)


def _head(chart: Chart, panel: str, theme: Theme, columns: int) -> str:
    """Return the title of a panel, broken into lines."""
    return _wrapped(chart.panel_of(panel).title, _letters(theme) // columns)


def _letters(theme: Theme) -> int:
    """Return how many letters a line of the whole figure holds."""
    return int(LETTERS * theme.width / theme.font)


def _across(chart: Chart, theme: Theme) -> int:
    """Return how many letters fit below the panel of rows, whose names stand at its left."""
    names = max(len(line) for row in rows_of(chart, theme) for line in row.name.split("\n"))
    values = chart.data[chart.x].to_numpy(dtype=float)
    beside = NEVER + WIDTH if chart.mark == "point" and np.isinf(values).any() else 1.0
    return int((_letters(theme) - SMALL * names) / beside)


def _wrapped(text: str, letters: int) -> str:
    return "\n".join(textwrap.wrap(text, letters))


def _title(chart: Chart, theme: Theme) -> str:
    """Return the title, broken into lines, and below it what is missing.

    A figure for a paper has no title, since its caption says what it is.
    """
    title = _wrapped(chart.title, _letters(theme)) if theme.titled else ""
    return "\n".join(filter(None, [title, _wrapped(chart.unfinished, _letters(theme))]))


def _write(figure: Figure, chart: Chart, axes: Mapping[str, Axes], columns: int, theme: Theme) -> None:
    """Write title, panel titles and axis labels; among panels only at the outer sides."""
    if title := _title(chart, theme):
        figure.suptitle(title, x=0.01, ha="left", weight="bold")
    last = len(axes) - columns
    wide = _across(chart, theme) if chart.has_rows else _letters(theme) // columns
    for i, (name, ax) in enumerate(axes.items()):
        here = chart.panel_of(name)
        if here.title:
            ax.set_title(_head(chart, name, theme, columns), fontsize="medium")
        label = here.y_label or chart.labels.get("y", "")
        previous = i % columns and (list(chart.panels.values())[i - 1].y_label if here.y_label else "") == here.y_label
        if label and not previous:
            tall = int(130 * ax.get_position().height * figure.get_figheight() / theme.font)
            ax.set_ylabel(_wrapped(label, max(tall, 18)))
        if i >= last and chart.labels.get("x"):
            ax.set_xlabel(_wrapped(chart.labels["x"], max(wide, 24)))
        if chart.preview:
            _mark_preview(ax, theme)


def _mark_preview(ax: Axes, theme: Theme) -> None:
    grey: dict[str, Any] = {"color": "#bbbbbb", "alpha": 0.5, "rotation": 20, "zorder": 0}
    ax.text(0.5, 0.5, "preview", transform=ax.transAxes, fontsize=3 * theme.font, ha="center", va="center", **grey)


def _name(
    figure: Figure,
    chart: Chart,
    axes: Mapping[str, Axes],
    lines: Mapping[str, Sequence[Line]],
    theme: Theme,
    spare: Axes | None,
) -> None:
    """Name lines at their ends where they stand apart there, otherwise in a legend below the panels.

    Args:
        spare: a place among the panels that is empty.
    """
    if any(chart.panel_of(panel).shown for panel in axes):
        for panel, ax in axes.items():
            _name_above(ax, chart, lines[panel], theme)
        return
    shown = dict.fromkeys(line.name for each in lines.values() for line in each if line.name and line.is_there)
    if chart.has_rows and chart.colour:
        shown = dict.fromkeys(chart.styles)
    if not shown:
        return
    names_stand_there = any(reference.axis == "y" for reference in chart.references)
    if len(axes) == 1 and lines and not names_stand_there:
        (ax,), (of_panel,) = axes.values(), lines.values()
        if _label_ends(figure, ax, of_panel, theme):
            return
    handles, length = _samples(chart, list(shown)[:MOST_NAMES], theme)
    if more := len(shown) - len(handles):
        handles.append(Line2D([], [], linestyle="", label=f"and {more:,} more"))
    _legend(figure, handles, length, spare if len(axes) > 1 else None)


def _samples(chart: Chart, names: Sequence[str], theme: Theme) -> tuple[list[Patch | Line2D], float]:
    """Return a sample of each line or bar for the legend, and how long they are, in text sizes."""
    if chart.mark == "bar":
        return [Patch(color=chart.styles[name].color, label=name) for name in names], LENGTH
    looks = {name: _sample_style(chart, name, theme) for name in names}
    longest = max(_sample(look, theme) for look in looks.values())
    return [_handle(name, look, theme) for name, look in looks.items()], longest


def _name_above(ax: Axes, chart: Chart, lines: Sequence[Line], theme: Theme) -> None:
    """Name the lines that a panel is about above it."""
    looks = {line.name: _sample_style(chart, line.name, theme) for line in lines if line.name and line.is_there}
    length = max((_sample(look, theme) for look in looks.values()), default=0.0)
    letters = int(width_of(ax, theme) / (SMALLER * theme.font * WIDE_LETTER) - 2 * length)
    handles = [Line2D([], [], label=_wrapped(name, max(letters, SAMPLE)), **look) for name, look in looks.items()]
    ax.legend(handles=handles, handlelength=length, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0)


def _sample_style(chart: Chart, name: str, theme: Theme) -> dict[str, Any]:
    """Return what a sample of a line looks like, as Line2D takes it."""
    style = chart.styles[name]
    line = style.line | {"linewidth": style.width * theme.lines}
    if chart.mark == "interval":
        line["marker"] = style.marker or "o"
    if chart.has_rows:
        line["linestyle"] = ""
        line.pop("dashes")
        line["marker"] = style.marker or "o"
    return line


def _handle(name: str, look: Mapping[str, Any], theme: Theme) -> Line2D:
    return Line2D([], [], label=_wrapped(name, min(NAME, int(_letters(theme) / SMALLER) - SAMPLE)), **look)


def _sample(look: Mapping[str, Any], theme: Theme) -> float:
    """Return how long a sample is, in text sizes, so that it shows its dashes: three where a mark hides the middle."""
    dashes = look.get("dashes")
    if not dashes:
        return LENGTH
    shown = 2 * sum(dashes) + dashes[0] if look["marker"] else sum(dashes) + dashes[0] / 2
    return float(max(LENGTH, shown * look["linewidth"] / (SMALLER * theme.font)))


def _label_ends(figure: Figure, ax: Axes, lines: Sequence[Line], theme: Theme) -> bool:
    """Write each name beside the end of its line; return False, writing none, where names would collide."""
    named = [line for line in lines if line.name]
    if not named or len(named) > MOST_LABELS or any(not len(line.x) for line in named):
        return False
    figure.draw_without_rendering()
    ends = [ax.transData.transform((line.x[-1], line.mean[-1])) for line in named]
    box, height = ax.bbox, APART * theme.font * figure.dpi / 72
    inside = all(x >= box.x0 + 0.97 * box.width and box.y0 <= y <= box.y1 for x, y in ends)
    if not inside or any(b - a < height for a, b in pairwise(sorted(y for _, y in ends))):
        return False
    if max(len(line.name) for line in named) * 0.55 * theme.font / 72 > BESIDE * theme.width:
        return False
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for line in named:
        end = (1.0, float(line.mean[-1]))
        ax.annotate(line.name, end, (5, 0), color=line.style.color, fontsize="small", annotation_clip=False, **place)
    return True


def _legend(figure: Figure, handles: Sequence[Patch | Line2D], length: float, spare: Axes | None) -> None:
    """Put the legend into the spare place, or below the panels, in as many columns as fit, equally filled.

    Args:
        length: of a sample, in text sizes.
    """
    width = figure.bbox.width
    style: dict[str, Any] = {"handles": handles, "handlelength": length, "columnspacing": 1.4, "labelspacing": 0.35}
    if spare is not None:
        legend = spare.legend(loc="upper left", borderaxespad=0, **style)
        figure.draw_without_rendering()
        if legend.get_window_extent().width <= 1.1 * spare.bbox.width:
            return
        legend.remove()
    rows = range(1, len(handles) + 1)
    for columns in dict.fromkeys(-(-len(handles) // lines) for lines in rows):
        legend = figure.legend(loc="outside lower left", ncols=columns, **style)
        beside = max(0.02 * width, 1.2 * legend.prop.get_size_in_points() * figure.dpi / 72)
        if columns == 1 or legend.get_window_extent().width <= width - beside:
            lines = legend.get_window_extent().height / figure.dpi
            figure.set_figheight(figure.get_figheight() + max(0.0, lines - FREE))
            return
        legend.remove()
