"""Columns of a table that the runs wrote, as lines: spectra, paths, learned functions; boxes and points behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from normexp.evidence.curves import Cell
from normexp.experiments.figure_kinds import Lines
from normexp.report.figures.chart import Chart, Numbers, Panel
from normexp.report.figures.context import FigureContext
from normexp.report.figures.styles import DASHES, DOTTED, MARKERS, LineStyle, dark_to_light, distinct
from normexp.report.figures.tables import tables

GREY, FILL, EDGE = "#666666", "#efefef", "#bbbbbb"
SIDES = ("x0", "x1", "y0", "y1")


def lines(context: FigureContext[Lines]) -> Chart:
    spec = context.spec
    found = tables(context, spec.table, [spec.x, *spec.y], [spec.by] if spec.by else [])
    apart = spec.panels == "arm"
    data = pd.concat([_long(context, cell, table, apart) for cell, table in found.items()], ignore_index=True)
    names = {cell: context.name(cell) if apart else "" for cell in found}
    boxes = tables(context, spec.boxes, SIDES, ["label"]) if spec.boxes else {}
    points = tables(context, spec.points, ["x", "y"]) if spec.points else {}
    behind = Behind(_grouped(boxes, names), _grouped(points, names))
    y_label = context.words("y", context.label(spec.y[0]) if len(spec.y) == 1 else "value")
    return context.chart(
        data, mark="line" if spec.joined else "interval", x="x", y="y",
        colour="line" if data["line"].any() else "", panel="panel" if apart else "",
        panels={name: Panel(name) for name in names.values()},
        styles=_styles(context, data, list(found), apart), also=behind.draw, also_reach=behind.reach,
        labels={"x": context.words("x", context.label(spec.x)), "y": y_label},
    )  # fmt: skip


def _long(context: FigureContext[Lines], cell: Cell, table: pd.DataFrame, apart: bool) -> pd.DataFrame:
    """Return a row per point of a line: columns x, y, line, cell, key, panel."""
    spec = context.spec
    groups = table.groupby(spec.by, sort=False) if spec.by else [("", table)]
    parts = []
    for value, rows in groups:
        for column in spec.y:
            said = [] if apart or len(context.cells) == 1 else [context.name(cell)]
            said += [context.label(column)] if len(spec.y) > 1 else []
            said += [f"{context.label(spec.by)} {value}"] if spec.by else []
            about = {"line": ", ".join(said), "cell": context.name(cell), "key": f"{column} {value}", "column": column}
            parts.append(pd.DataFrame({"x": rows[spec.x], "y": rows[column], "panel": context.name(cell), **about}))
    return pd.concat(parts)


def _styles(context: FigureContext[Lines], data: pd.DataFrame, cells: list[Cell], apart: bool) -> dict[str, LineStyle]:
    """Lines of several arms have the arms' colours and dashes by column; those of one arm go from dark to light."""
    keys = list(dict.fromkeys(data["key"]))
    arms = context.styles(cells)
    own = dark_to_light(len(keys)) if context.spec.by and len(keys) > 1 else [distinct(i) for i in range(len(keys))]
    styles: dict[str, LineStyle] = {}
    for line, cell, key, column in data[["line", "cell", "key", "column"]].drop_duplicates().itertuples(index=False):
        place = keys.index(key)
        several = len(cells) > 1 and not apart
        style = arms[cell] if several else own[place]
        if several and place:
            style = replace(style, dashes=DASHES[place % len(DASHES)])
        if column in context.spec.dotted:
            style = replace(style, dashes=DOTTED, width=1.8)
        styles[line] = replace(style, marker="o" if context.spec.markers else style.marker)
        if not context.spec.joined:
            styles[line] = replace(styles[line], dashes=(), width=0.0, marker=MARKERS[place % len(MARKERS)])
    return styles


def _grouped(found: Mapping[Cell, pd.DataFrame], names: Mapping[Cell, str]) -> dict[str, pd.DataFrame]:
    """Return the tables of every panel as one."""
    panels: dict[str, list[pd.DataFrame]] = {}
    for cell, table in found.items():
        panels.setdefault(names[cell], []).append(table)
    return {name: pd.concat(parts).drop_duplicates() for name, parts in panels.items()}


@dataclass(frozen=True)
class Behind:
    """Labelled boxes and scattered points behind the lines of a panel."""

    boxes: Mapping[str, pd.DataFrame]
    points: Mapping[str, pd.DataFrame]

    @property
    def reach(self) -> dict[str, tuple[Numbers, Numbers]]:
        """The x and y that the axes should show."""
        none = pd.DataFrame(columns=[*SIDES, "x", "y"], dtype=float)
        found = {}
        for name in {*self.boxes, *self.points}:
            box, dots = self.boxes.get(name, none), self.points.get(name, none)
            found[name] = (
                np.concatenate([box["x0"], box["x1"], dots["x"]]).astype(float),
                np.concatenate([box["y0"], box["y1"], dots["y"]]).astype(float),
            )
        return found

    def draw(self, ax: Axes, panel: str) -> None:
        if panel in self.boxes:
            for row in self.boxes[panel].itertuples():
                self._box(ax, row)
        if panel in self.points:
            dots = self.points[panel]
            ax.plot(dots["x"], dots["y"], "o", color=GREY, markersize=1.8, alpha=0.35, zorder=1.5)

    def _box(self, ax: Axes, row: Any) -> None:
        style: dict[str, Any] = {"facecolor": FILL, "edgecolor": EDGE, "linewidth": 0.6, "zorder": 0.5}
        ax.add_patch(Rectangle((row.x0, row.y0), row.x1 - row.x0, row.y1 - row.y0, **style))
        place = ((row.x0 + row.x1) / 2, max(row.y0, row.y1))
        ax.annotate(
            row.label, place, (0, 2), textcoords="offset points", ha="center", va="bottom", color=GREY, fontsize="small"
        )
