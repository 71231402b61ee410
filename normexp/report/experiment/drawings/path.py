"""A path on a surface, cut where it leaves the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patheffects import Normal, Stroke

from normexp.report.experiment.drawings.axis import Axis
from normexp.report.experiment.drawings.tables import Table

Numbers = npt.NDArray[np.float64]

OUTLINE = [Stroke(linewidth=2.4, foreground="black"), Normal()]  # to be seen on dark and on light
MARK: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "zorder": 4, "clip_on": False}
ARROW = 16  # length of an arrow in pixels


@dataclass(frozen=True)
class Path:
    """The part of a path that is inside the picture.

    Args:
        x, y: points from the start on; the last one lies on the picture's edge where the path leaves it.
        left_at: number of the first point outside; None where it stays inside.
        points: of the whole path, the start included.
    """

    x: Numbers
    y: Numbers
    left_at: int | None
    points: int

    def draw(self, axes: Axes) -> None:
        if not len(self.x):
            return
        axes.plot(self.x, self.y, ".-", color="white", linewidth=1.2, markersize=2, zorder=3, path_effects=OUTLINE)
        if self.left_at is None:
            axes.plot(self.x[-1], self.y[-1], "*", markersize=8, **MARK)
        elif len(self.x) > 1:
            self._arrow(axes)
        axes.plot(self.x[0], self.y[0], "o", markersize=5, **MARK)

    def _arrow(self, axes: Axes) -> None:
        """Draw an arrow head on the picture's edge, in the direction in which the path leaves."""
        tail, head = axes.transData.transform(np.column_stack([self.x[-2:], self.y[-2:]]))
        back = head - ARROW * (head - tail) / max(float(np.hypot(*(head - tail))), 1e-9)
        style = {"arrowstyle": "-|>,head_width=0.35,head_length=0.7", "facecolor": "white", "shrinkA": 0, "shrinkB": 0}
        x, y = axes.transData.inverted().transform(back)
        axes.annotate("", (self.x[-1], self.y[-1]), (x, y), arrowprops=style, annotation_clip=False, zorder=5)

    def note(self, name: str) -> str:
        """Return what the picture cannot show."""
        if self.left_at == 0:
            return f"{name}: the path starts outside the picture."
        if self.left_at is None:
            return ""
        return f"{name}: the path leaves the picture in step {self.left_at} of {self.points - 1} (arrow)."


def path(table: Table, x: Axis, y: Axis) -> Path:
    """Return the part of the table's path, columns x and y, that lies inside the axes."""
    points = np.column_stack([table.numbers("x"), table.numbers("y")])
    low, high = np.array([x.low, y.low]), np.array([x.high, y.high])
    outside = ~np.all((points >= low) & (points <= high), axis=1)
    if not outside.any():
        return Path(points[:, 0], points[:, 1], None, len(points))
    first = int(np.argmax(outside))
    kept = points[:first]
    if first and np.isfinite(points[first]).all():
        kept = np.vstack([kept, _crossing(points[first - 1], points[first], low, high)])
    return Path(kept[:, 0], kept[:, 1], first, len(points))


def _crossing(inside: Numbers, outside: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return where the straight line from a point inside to one outside meets the edge."""
    step = outside - inside
    edge = np.where(step > 0, high, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(step != 0, (edge - inside) / step, np.inf)
    return inside + max(0.0, float(share.min())) * step
