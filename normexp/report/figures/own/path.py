"""A surface with the path of an optimizer on it, cut where it leaves the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import Normal, Stroke

from normexp.evidence.curves import Cell
from normexp.experiments.figure_kinds import Contour
from normexp.report.figures.chart import Chart, Numbers, Panel
from normexp.report.figures.context import FigureContext
from normexp.report.figures.tables import tables

OUTLINE = [Stroke(linewidth=2.4, foreground="black"), Normal()]  # to be seen on dark and on light
MARK: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "zorder": 4, "clip_on": False}


def contour(context: FigureContext[Contour]) -> Chart:
    spec = context.spec
    found = tables(context, spec.table, [spec.x, spec.y, spec.z])
    for cell, table in found.items():
        _check_grid(context, cell, table)
    data = pd.concat([table.assign(panel=context.name(cell)) for cell, table in found.items()])
    paths = tables(context, spec.path, ["x", "y"]) if spec.path else {}
    cut = {
        context.name(cell): cut_path(paths[cell], table[spec.x], table[spec.y])
        for cell, table in found.items()
        if cell in paths
    }
    said = ["White circle: start of the path; star: its end."] if cut else []
    said += [path.note(name) for name, path in cut.items()]
    hidden = int((data[spec.z] <= 0).sum()) if "z" in spec.log else 0
    said += [f"Grey: {hidden} values of 0 or below, for which there is no logarithmic level."] if hidden else []
    names = [context.name(cell) for cell in found]
    return context.chart(
        data, mark="contour", x=spec.x, y=spec.y, z=spec.z, panel="panel", panels={name: Panel(name) for name in names},
        labels={axis: context.words(axis, context.label(getattr(spec, axis))) for axis in ("x", "y", "z")},
        sentences=tuple(said), share_y="none", also=lambda ax, name: cut[name].draw(ax) if name in cut else None,
    )  # fmt: skip


def _check_grid(context: FigureContext[Contour], cell: Cell, table: pd.DataFrame) -> None:
    """Raise UserError where a point of the grid is missing or there twice, or where there is no surface."""
    spec = context.spec
    x, y = table[spec.x].nunique(), table[spec.y].nunique()
    if len(table) != x * y or table.duplicated([spec.x, spec.y]).any():
        grid = f"{x} x {y} values of {spec.x} and {spec.y}"
        raise context.error(f"{spec.table}.csv of {cell} is no regular grid: {grid}, but {len(table)} rows")
    if min(x, y) < 2:
        raise context.error(f"{spec.table}.csv of {cell} is no surface: {x} x {y} points")


@dataclass(frozen=True)
class Path:
    """The part of a path that is inside the picture.

    Args:
        points: (n, 2), from the start on; the last one lies on the picture's edge where the path leaves it.
        left_at: number of the first point outside; None where it stays inside.
        length: points of the whole path, the start included.
    """

    points: Numbers
    left_at: int | None
    length: int

    def draw(self, ax: Axes) -> None:
        if not len(self.points):
            return
        ax.plot(*self.points.T, ".-", color="white", linewidth=1.2, markersize=2, zorder=3, path_effects=OUTLINE)
        if self.left_at is None:
            ax.plot(*self.points[-1], "*", markersize=8, **MARK)
        elif len(self.points) > 1:
            step = self.points[-1] - self.points[-2]
            head = "-|>,head_width=0.35,head_length=0.7"
            style = {"arrowstyle": head, "facecolor": "white", "shrinkA": 0, "shrinkB": 0}
            tail = self.points[-1] - 0.05 * step / max(float(np.abs(step).max()), 1e-300) * np.ptp(ax.get_ylim())
            ax.annotate("", self.points[-1], tail, arrowprops=style, annotation_clip=False, zorder=5)
        ax.plot(*self.points[0], "o", markersize=5, **MARK)

    def note(self, name: str) -> str:
        """Return what the picture cannot show."""
        if self.left_at == 0:
            return f"{name}: the path starts outside the picture."
        if self.left_at is None:
            return ""
        return f"{name}: the path leaves the picture in step {self.left_at} of {self.length - 1} (arrow)."


def cut_path(table: pd.DataFrame, x: pd.Series[float], y: pd.Series[float]) -> Path:
    """Return the part of a path that lies within the ranges of x and y."""
    points = table[["x", "y"]].to_numpy(dtype=np.float64)
    low, high = np.array([x.min(), y.min()]), np.array([x.max(), y.max()])
    outside = ~np.all((points >= low) & (points <= high), axis=1)
    if not outside.any():
        return Path(points, None, len(points))
    first = int(np.argmax(outside))
    kept = points[:first]
    if first and np.isfinite(points[first]).all():
        kept = np.vstack([kept, _crossing(points[first - 1], points[first], low, high)])
    return Path(kept, first, len(points))


def _crossing(inside: Numbers, outside: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return where the straight line from a point inside to one outside meets the edge."""
    step = outside - inside
    edge = np.where(step > 0, high, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(step != 0, (edge - inside) / step, np.inf)
    return inside + max(0.0, float(share.min())) * step
