"""Many lines in small panels: each shows all of them in grey, and a few in their colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from normexp.report.figures.chart import Chart
from normexp.report.figures.styles import COLUMNS, IN_PANEL, LineStyle, are_split, dark_to_light, distance

ALIKE = 150.0  # of 765: lines of one dash whose colours are nearer are in different panels, where one has room


def in_panels(chart: Chart) -> Chart:
    """Return the chart with its lines in several panels, where there are too many for one."""
    there = set(chart.data[chart.colour].astype(str)) if chart.colour else set()
    names = [name for name in chart.styles if name in there]
    panels = list(chart.by_panel())
    if chart.mark not in ("line", "interval") or chart.has_rows or len(panels) > 1 or not are_split(len(names)):
        return chart
    if [chart.styles[name].color for name in names] == [style.color for style in dark_to_light(len(names))]:
        return chart  # values in order, which their colours tell
    groups = _groups([(name, chart.styles[name]) for name in names])
    whole = chart.panel_of(panels[0])
    return replace(
        chart,
        data=pd.concat([chart.data.assign(part=str(i)) for i in range(len(groups))], ignore_index=True),
        panel="part",
        panels={str(i): replace(whole, shown=frozenset(group)) for i, group in enumerate(groups)},
        columns=COLUMNS,
        share_y="all",
    )


def _groups(lines: Sequence[tuple[str, LineStyle]]) -> list[list[str]]:
    """Return the lines of every panel: in their order, but for those whose colour is near that of one there."""
    count = -(-len(lines) // IN_PANEL)
    room = -(-len(lines) // count)
    groups: list[list[tuple[str, LineStyle]]] = [[] for _ in range(count)]
    for name, style in lines:
        free = [group for group in groups if len(group) < room]
        apart = [_nearest(style, [other for _, other in group]) for group in free]
        first = next((i for i, each in enumerate(apart) if each >= ALIKE), apart.index(max(apart)))
        free[first].append((name, style))
    return [[name for name, _ in group] for group in groups]


def _nearest(style: LineStyle, others: Sequence[LineStyle]) -> float:
    """Return how far the colour is from the nearest of others that have the same dashes."""
    alike = (distance(style.color, other.color) for other in others if other.dashes == style.dashes)
    return min(alike, default=float("inf"))
