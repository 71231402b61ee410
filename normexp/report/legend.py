"""The legend below the panels: one entry per line."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from normexp.report.colors import Look


def write_legend(figure: Figure, entries: Mapping[str, Look], columns: int, corner: tuple[float, float]) -> None:
    """Write one entry per text below `corner`, in fractions of the figure."""
    legend = figure.legend(
        handles=[Line2D([], [], label=text, **look.style) for text, look in entries.items()],
        ncols=columns,
        loc="upper left",
        bbox_to_anchor=corner,
        frameon=False,
        borderpad=0,
        borderaxespad=0,
        handlelength=3.2,
        labelspacing=0.3,
        columnspacing=1.2,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
