"""The grammar of figures: a tidy table, a mark, and which column becomes x, y, colour and panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from normexp.report.figures.styles import LineStyle

Mark = Literal["line", "point", "bar", "heat", "contour", "interval"]
Band = Literal["sd", "ci", "range", "none"]
Range = tuple[float, float]
UNBOUNDED: Range = (-math.inf, math.inf)
WHOLE = "whole"  # the panel beside which another one shows a part of it larger
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """How one panel differs from the others.

    Args:
        title: above it; empty for none.
        y_label: empty for that of the chart.
        possible: the smallest and the largest value that there can be, at which bands and intervals end: 0 and 100 of
            shares in percent, 0 and infinity of losses.
        worst: plus or minus infinity, on whose side runs stand that diverged without a value.
        x, y: the axes' ends; None for the data's own.
        top: the largest vertical value worth showing; what is beyond it leaves the panel, marked and named.
        log: its logarithmic axes, beside those of the chart.
        shown: the lines that it names; all others are grey behind them. Empty: it names all.
    """

    title: str = ""
    y_label: str = ""
    possible: Range = UNBOUNDED
    worst: float = math.inf
    x: Range | None = None
    y: Range | None = None
    log: frozenset[str] = frozenset()
    top: float = math.inf
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Reference:
    """A thin straight line at a value of one axis, with its name."""

    at: float
    text: str
    axis: Literal["x", "y"] = "y"


@dataclass(frozen=True, eq=False)
class Chart:
    """One figure, declared; `picture.draw` makes it, `captions.caption` says in words what it shows.

    Args:
        data: a row per measurement. `run` tells apart the runs that are averaged; `ended` is True in all rows of a run
            that diverged.
        mark: line: y over x, averaged over runs at each x; interval with numbers as x: the same with error bars.
            point and interval with names as y: a row each, a dot per run, the median or the mean with its interval.
            bar: a stacked bar per name, a part per colour. heat: z as colour and number at names x and y.
            contour: z over x and y.
        x, y, colour, panel, z: columns of `data`; colour and panel may be empty. Panels stand in their order.
        band: around lines, or the interval of rows: sd, mean ± standard deviation; ci, 95 % t interval; range, from
            the lowest to the highest run. On a logarithmic axis sd becomes range, since mean - sd may be negative,
            and ci that of the logarithms.
        labels: words for the axes x, y, z.
        styles: of every colour, in the order of the legend; of rows without colours, by their names.
        panels: what is special about a panel.
        columns: of panels; 0 chooses.
        share_y: all, panels with the same label have the same vertical axis; none, each has its own.
        group: a column of headings above rows.
        by_column: of a heat map, whether each column has its own scale.
        also: draws what is beside the marks of a panel: (axes, panel).
        also_reach: (x, y) of that, which the axes of a panel should show, too.
        unfinished: how many of its runs there are, in words that stand below the title; empty where all are.
        beside: a file in the folder of the figure, and what it does: a page that has no such file leaves both out.
        sentences: of the caption, before what is said of marks and bands.
        notes: sentences at its end.
    """

    data: pd.DataFrame
    mark: Mark
    x: str = "x"
    y: str = "y"
    colour: str = ""
    panel: str = ""
    z: str = ""
    band: Band = "none"
    log: frozenset[str] = frozenset()
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    styles: Mapping[str, LineStyle] = field(default_factory=dict)
    panels: Mapping[str, Panel] = field(default_factory=dict)
    columns: int = 0
    share_y: Literal["all", "none"] = "all"
    group: str = ""
    ticks: Mapping[float, str] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    by_column: bool = False
    preview: bool = False
    unfinished: str = ""
    beside: tuple[str, str] | None = None
    also: Callable[[Axes, str], None] | None = None
    also_reach: Mapping[str, tuple[Numbers, Numbers]] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_rows(self) -> bool:
        """Whether y are names, a row each."""
        return self.mark in ("point", "bar") or (self.mark == "interval" and not self._is_number(self.y))

    def _is_number(self, column: str) -> bool:
        return bool(pd.api.types.is_numeric_dtype(self.data[column]))

    def panel_of(self, name: str) -> Panel:
        return self.panels.get(name, Panel())

    def log_in(self, axis: str, panel: str) -> bool:
        return axis in self.log or axis in self.panel_of(panel).log

    def by_panel(self) -> dict[str, pd.DataFrame]:
        """Return the rows of every panel; without panels all under the empty name."""
        if not self.panel:
            return {"": self.data}
        return {str(name): rows for name, rows in self.data.groupby(self.panel, sort=False)}
