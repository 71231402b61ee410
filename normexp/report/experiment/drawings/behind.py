"""What lies behind lines: labelled boxes and scattered points, from tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from normexp.evidence.curves import Cell
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.experiment.drawings.tables import Table
from normexp.report.layout import SMALL

Numbers = npt.NDArray[np.float64]

GREY, FILL, EDGE = "#555555", "#efefef", "#bbbbbb"
SIDES = ("x0", "x1", "y0", "y1")


@dataclass(frozen=True)
class Behind:
    """The boxes and points of one panel's arms; equal boxes of several arms are drawn once.

    Args:
        boxes: tables with the columns x0, x1, y0, y1 and label.
        points: tables with the columns x and y.
    """

    subject: Subject
    boxes: Mapping[Cell, Table]
    points: Mapping[Cell, Table]

    @property
    def corners(self) -> list[tuple[float, float, float, float, str]]:
        """Return (x0, x1, y0, y1, label) of every box."""
        found: dict[tuple[float, float, float, float, str], None] = {}
        for table in self.boxes.values():
            sides = (table.numbers(name).tolist() for name in SIDES)
            found |= dict.fromkeys(zip(*sides, table.texts("label"), strict=True))
        return list(found)

    @property
    def reach(self) -> tuple[Numbers, Numbers]:
        """The x and y that the axes should show."""
        xs = [np.array([x0, x1]) for x0, x1, *_ in self.corners] + [t.numbers("x") for t in self.points.values()]
        ys = [np.array([y0, y1]) for _, _, y0, y1, _ in self.corners] + [t.numbers("y") for t in self.points.values()]
        return np.concatenate([np.zeros(0), *xs]), np.concatenate([np.zeros(0), *ys])

    def draw(self, axes: Axes) -> None:
        for x0, x1, y0, y1, label in self.corners:
            style: dict[str, Any] = {"facecolor": FILL, "edgecolor": EDGE, "linewidth": 0.6, "zorder": 0.5}
            axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, **style))
            self._label(axes, (x0 + x1) / 2, max(y0, y1), label)
        for cell, table in self.points.items():
            color = self.subject.color(cell) if len(self.points) > 1 else GREY
            axes.plot(table.numbers("x"), table.numbers("y"), "o", color=color, markersize=1.8, alpha=0.35, zorder=1.5)

    def _label(self, axes: Axes, x: float, y: float, text: str) -> None:
        """Write a box's label above its upper edge."""
        style: dict[str, Any] = {"ha": "center", "va": "bottom", "size": SMALL, "color": GREY, "parse_math": False}
        style |= {"bbox": {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}, "zorder": 4}
        axes.annotate(text, (x, y), (0, 2), textcoords="offset points", annotation_clip=False, **style)
