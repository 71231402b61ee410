"""Where everything on a figure goes, in inches on paper, from measured texts: nothing overlaps or is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

FAMILY = "DejaVu Sans"  # comes with matplotlib, so it is the same everywhere
FONT, SMALL = 8.0, 6.5  # points
PANEL_WIDTH, PANEL_HEIGHT = 2.6, 1.95
LEFT, RIGHT, TOP, BOTTOM = 0.62, 0.22, 0.3, 0.45  # around a panel: its scale, air, its row's name, its steps
MARGIN = 0.1
LEGEND_LINE, CAPTION_LINE = 0.145, 0.122  # heights
LEGEND_HANDLE = 0.6  # width of the sample line and the air around an entry


@dataclass(frozen=True)
class Layout:
    """A grid of panels, below it the legend where lines carry no labels, below that the captions.

    Args:
        labels: width that the labels right of each panel need; None where there is a legend.
        legend: number of (lines, columns) of the legend.
        captions: lines of text, broken to the figure's width.
    """

    rows: int
    columns: int
    labels: float | None
    legend: tuple[int, int]
    captions: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Sequence[str]]], captions: Sequence[str], labelled: bool) -> Layout:
        """Lay out rows of panels, each given by the texts of its lines; `labelled` lines carry them."""
        texts = list(dict.fromkeys(text for row in rows for panel in row for text in panel))
        labels = max(map(text_width, texts)) if labelled else None
        columns = max(map(len, rows))
        width = columns * _cell(labels) - 2 * MARGIN
        legend = (0, 1) if labelled else arranged(texts, width)
        lines = tuple(line for text in captions for line in broken(text, width))
        return cls(len(rows), columns, labels, legend, lines)

    @property
    def width(self) -> float:
        return self.columns * _cell(self.labels)

    @property
    def height(self) -> float:
        return self.rows * _ROW + self._legend_height + CAPTION_LINE * len(self.captions) + MARGIN

    def panel(self, row: int, column: int) -> tuple[float, float, float, float]:
        """Return (left, bottom, width, height) of a panel, in fractions of the figure."""
        left = column * _cell(self.labels) + LEFT
        bottom = self.height - row * _ROW - TOP - PANEL_HEIGHT
        width, height = self.width, self.height
        return left / width, bottom / height, PANEL_WIDTH / width, PANEL_HEIGHT / height

    def name(self, row: int) -> tuple[float, float]:
        """Return the top left corner of a row's name, in fractions of the figure."""
        return MARGIN / self.width, 1 - (row * _ROW + 0.06) / self.height

    @property
    def legend_corner(self) -> tuple[float, float]:
        return MARGIN / self.width, 1 - self.rows * _ROW / self.height

    @property
    def caption_corner(self) -> tuple[float, float]:
        return MARGIN / self.width, 1 - (self.rows * _ROW + self._legend_height) / self.height

    @property
    def _legend_height(self) -> float:
        return LEGEND_LINE * self.legend[0] + MARGIN if self.legend[0] else 0.0


_ROW = TOP + PANEL_HEIGHT + BOTTOM


def _cell(labels: float | None) -> float:
    return LEFT + PANEL_WIDTH + RIGHT + (labels or 0.0)


def arranged(texts: Sequence[str], width: float) -> tuple[int, int]:
    """Return the number of (lines, columns) of a legend in a width in inches; columns are filled one by one."""
    entries = [text_width(text) + LEGEND_HANDLE for text in texts]
    for columns in range(len(entries), 1, -1):
        if sum(max(column) for column in np.array_split(entries, columns)) <= width:
            lines = -(-len(entries) // columns)
            return lines, -(-len(entries) // lines)
    return len(entries), 1


@cache
def text_width(text: str, size: float = FONT) -> float:
    """Measure a text in the figure's font, in inches."""
    font = FontProperties(family=FAMILY, size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72


def broken(text: str, width: float) -> list[str]:
    """Break a caption into lines of at most `width` inches (a single longer word stays whole)."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, SMALL) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
