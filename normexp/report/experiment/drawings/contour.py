"""A surface over two coordinates from a table, one panel per arm, with a path drawn on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from normexp.evidence.curves import Cell
from normexp.report.experiment.drawings.axis import Axis, set_axes
from normexp.report.experiment.drawings.frame import Room, frame, name_panel
from normexp.report.experiment.drawings.path import Path, path
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.experiment.drawings.tables import Table, tables

Numbers = npt.NDArray[np.float64]

MAP = "viridis"
LEVELS = 12
ROOM = Room(2.5, 2.3, 0.72, 0.2)
BAR = 0.85  # inches for the colour bar and its numbers


@dataclass(frozen=True)
class Surface:
    """x (columns), y (rows), and z of shape (rows, columns); NaN where z is unknown."""

    x: Numbers
    y: Numbers
    z: Numbers


def contour(subject: Subject) -> Figure:
    surfaces = {cell: _surface(subject, cell, table) for cell, table in tables(subject).items()}
    paths = tables(subject, "path") if "path" in subject.spec else {}
    levels = _levels([each.z for each in surfaces.values()], subject.log("z"))
    norm = (LogNorm if subject.log("z") else Normalize)(levels[0], levels[-1])
    drawn = {cell: path(paths[cell], *_axes(subject, surfaces[cell])) for cell in paths if cell in surfaces}
    captions = subject.captions(*_meaning(subject, drawn), _hidden(subject, surfaces))
    figure, panels = frame(subject, len(surfaces), captions, ROOM, beside=BAR)
    for axes, (cell, surface) in zip(panels, surfaces.items(), strict=True):
        _draw(axes, subject, surface, levels, norm)
        name_panel(axes, subject.name(cell), subject.color(cell), ROOM)
        if cell in drawn:
            drawn[cell].draw(axes)
    _color_bar(figure, panels, subject, norm)
    return figure


def _surface(subject: Subject, cell: Cell, table: Table) -> Surface:
    """Return the table as a grid. Raises UserError where a point of the grid is missing or there twice."""
    x, y, z = (table.numbers(subject.spec[key]) for key in "xyz")
    xs, across = np.unique(x, return_inverse=True)
    ys, down = np.unique(y, return_inverse=True)
    if len(x) != len(xs) * len(ys) or len({*zip(across.tolist(), down.tolist(), strict=True)}) != len(x):
        grid = f"{len(xs)} x {len(ys)} values of {subject.spec['x']} and {subject.spec['y']}"
        raise subject.error(f"{table.path} of {cell} is no regular grid: {grid}, but {len(x)} rows")
    if min(len(xs), len(ys)) < 2:
        raise subject.error(f"{table.path} of {cell} is no surface: {len(xs)} x {len(ys)} points")
    values = np.full((len(ys), len(xs)), np.nan)
    values[down, across] = np.where(np.isfinite(z), z, np.nan)
    return Surface(xs, ys, values)


def _levels(surfaces: Sequence[Numbers], log: bool) -> Numbers:
    """Return the levels of all panels, so that one colour is one value everywhere."""
    z = Axis.over(surfaces, log, margin=0.0)
    low, high = z.low, z.high
    if low == high:
        low, high = (low / 2, 2 * high) if log else (low - 0.5, high + 0.5)
    return np.geomspace(low, high, LEVELS) if log else np.asarray(MaxNLocator(LEVELS).tick_values(low, high))


def _axes(subject: Subject, surface: Surface) -> tuple[Axis, Axis]:
    return Axis.over([surface.x], subject.log("x"), margin=0.0), Axis.over([surface.y], subject.log("y"), margin=0.0)


def _draw(axes: Axes, subject: Subject, surface: Surface, levels: Numbers, norm: Any) -> None:
    set_axes(axes, *_axes(subject, surface))
    positive = (surface.z > 0) | (not subject.log("z"))
    z = np.ma.masked_where(~(positive & np.isfinite(surface.z)), surface.z)
    axes.contourf(surface.x, surface.y, z, levels=levels, norm=norm, cmap=MAP)
    axes.contour(surface.x, surface.y, z, levels=levels, colors="white", linewidths=0.3, linestyles="solid", alpha=0.6)
    axes.grid(visible=False)
    if not subject.log("x"):
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.set_xlabel(subject.label("x", subject.spec["x"]), parse_math=False)
    axes.set_ylabel(subject.label("y", subject.spec["y"]), parse_math=False)


def _color_bar(figure: Figure, panels: Sequence[Axes], subject: Subject, norm: Any) -> None:
    """Draw the scale of z right of the first row of panels."""
    width = figure.get_figwidth()
    place = panels[0].get_position()
    right = max(axes.get_position().x1 for axes in panels)
    axes = figure.add_axes((right + 0.15 / width, place.y0, 0.12 / width, place.height))
    bar = figure.colorbar(ScalarMappable(norm, MAP), cax=axes)
    bar.set_label(subject.label("z", subject.spec["z"]), parse_math=False)
    bar.outline.set_visible(False)
    axes.grid(visible=False)


def _meaning(subject: Subject, drawn: dict[Cell, Path]) -> list[str]:
    if not drawn:
        return []
    return [
        "White circle: start of the path; star: its end.",
        *(each.note(subject.name(cell)) for cell, each in drawn.items()),
    ]


def _hidden(subject: Subject, surfaces: dict[Cell, Surface]) -> str:
    if not subject.log("z"):
        return ""
    count = sum(int((each.z <= 0).sum()) for each in surfaces.values())
    return f"White: {count} values of 0 or below, for which there is no logarithmic level." if count else ""
