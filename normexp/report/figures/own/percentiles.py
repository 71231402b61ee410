"""Percentiles of one layer's input over training, a panel per arm, from one seed's probes.csv."""

from __future__ import annotations

from typing import Any

import pandas as pd

from normexp.experiments.figure_kinds import Percentiles
from normexp.records import PROBES, RunDirectory
from normexp.report.figures.chart import Chart, Panel
from normexp.report.figures.context import FigureContext
from normexp.report.figures.styles import LineStyle

MIDDLE = "p50"
MIDDLE_STYLE, OUTER_STYLE = LineStyle("#0072B2"), LineStyle("#4B4E9C", (3.0, 1.2))


def percentiles(context: FigureContext[Percentiles]) -> Chart:
    layer = context.spec.layer
    runs = context.one_seed(context.spec.seed)
    data = pd.concat([_levels(context, run, layer).assign(panel=context.name(cell)) for cell, run in runs.items()])
    levels = reversed(list(dict.fromkeys(data["statistic"])))
    styles = {_words(level): MIDDLE_STYLE if level == MIDDLE else OUTER_STYLE for level in levels}
    labels = {"x": context.words("x", "step"), "y": context.words("y", f"input to {layer}")}
    panels = {context.name(cell): Panel(context.name(cell)) for cell in runs}
    given: dict[str, Any] = {"colour": "level", "panel": "panel", "panels": panels, "styles": styles, "labels": labels}
    return context.chart(data, mark="line", x="step", y="value", **given)


def _words(statistic: str) -> str:
    return "median" if statistic == MIDDLE else f"{statistic.removeprefix('p')}th percentile"


def _levels(context: FigureContext[Percentiles], run: RunDirectory, layer: str) -> pd.DataFrame:
    """Return step, statistic, level and value of one layer. Raises UserError where the run recorded none."""
    rows = [row for row in run.rows(PROBES) if (row["probe"], row["layer"]) == ("percentiles", layer)]
    if not rows:
        raise context.error(f"{run.path / PROBES} has nothing on {layer!r}; was it run with probe=percentiles?")
    found = pd.DataFrame(rows).astype({"step": int, "value": float})
    return found.assign(level=found["statistic"].map(_words))
