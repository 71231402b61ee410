"""The paper that figures are drawn on, in inches: rows of equal panels, the legend below, the captions below that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from normexp.report.colors import Look
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.figures import canvas
from normexp.report.layout import (
    BOTTOM,
    CAPTION_LINE,
    FONT,
    LEFT,
    LEGEND_HANDLE,
    LEGEND_LINE,
    MARGIN,
    SMALL,
    TOP,
    arranged,
    broken,
    text_width,
)  # fmt: skip
from normexp.report.legend import write_legend

WIDEST = 11.5  # inches of a figure; panels that go beyond it begin a new row
WIDER = 0.97  # of the width is filled by captions: pixels space small letters wider than the font says


@dataclass(frozen=True)
class Room:
    """A panel's size and the room around it, in inches."""

    width: float = 3.2
    height: float = 2.3
    left: float = LEFT
    right: float = 0.35
    top: float = TOP
    bottom: float = BOTTOM

    @property
    def cell(self) -> tuple[float, float]:
        """Width and height of a panel with what is around it."""
        return self.left + self.width + self.right, self.top + self.height + self.bottom


def frame(
    subject: Subject,
    count: int,
    captions: Sequence[str],
    room: Room,
    entries: Mapping[str, Look] | None = None,
    columns: int = 0,
    beside: float = 0.0,
    aside: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with empty panels, its legend and its captions.

    Args:
        entries: of the legend: text -> look; None or empty for no legend.
        columns: panels in a row; 0 puts as many there as fit.
        beside: inches left free right of all panels.
        aside: whether the legend stands there, not below the panels.
    """
    entries = entries or {}
    across, down = room.cell
    columns = min(count, columns or max(1, int(WIDEST / across)))
    rows = -(-count // columns)
    aside = aside and 0 < len(entries) * LEGEND_LINE <= room.height
    if aside:
        beside = max(map(text_width, entries)) + LEGEND_HANDLE
    width = columns * across + beside
    lines, legend_columns = (0, 1) if aside or not entries else arranged(list(entries), width - 2 * MARGIN)
    text = [line for caption in captions for line in broken(caption, WIDER * width - 2 * MARGIN)]
    legend_height = lines * LEGEND_LINE + MARGIN if lines else 0.0
    below = legend_height + CAPTION_LINE * len(text) + MARGIN
    height = rows * down + below
    figure = canvas(width, height)
    if entries:
        corner = (columns * across, height - room.top) if aside else (MARGIN, below)
        write_legend(figure, entries, legend_columns, (corner[0] / width, corner[1] / height))
    place = MARGIN / width, (below - legend_height) / height
    style: dict[str, Any] = {"size": SMALL, "color": "#444444", "va": "top", "linespacing": 1.3}
    figure.text(*place, "\n".join(text), parse_math=False, **style)
    corners = [(i % columns * across, below + (rows - 1 - i // columns) * down) for i in range(count)]
    return figure, [_panel(figure, subject, corner, room) for corner in corners]


def _panel(figure: Figure, subject: Subject, corner: tuple[float, float], room: Room) -> Axes:
    """Add a panel whose room begins at a corner, in inches."""
    width, height = figure.get_size_inches()
    left, bottom = (corner[0] + room.left) / width, (corner[1] + room.bottom) / height
    axes = figure.add_axes((left, bottom, room.width / width, room.height / height))
    if subject.scale == "smoke":
        _preview(axes)
    return axes


def name_panel(axes: Axes, text: str, color: str, room: Room) -> None:
    """Write what a panel shows above its left corner, smaller and in two lines where it is long."""
    fits = text_width(text) <= room.width + room.right
    lines = [text] if fits else broken(text, room.width + room.right)
    style: dict[str, Any] = {"fontsize": FONT if fits else SMALL, "loc": "left", "color": color, "pad": 4}
    axes.set_title("\n".join(lines), parse_math=False, linespacing=1.0, **style)


def _preview(axes: Axes) -> None:
    axes.text(
        0.5, 0.5, "preview", transform=axes.transAxes, fontsize=28, color="#bbbbbb", alpha=0.5,
        ha="center", va="center", rotation=20, zorder=0,
    )  # fmt: skip
