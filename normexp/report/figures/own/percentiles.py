"""Percentiles of one layer's input over training, a panel per arm, from one seed's probes.csv."""

from __future__ import annotations

from typing import Any

import pandas as pd

from normexp.experiments.figures import Percentiles
from normexp.records import PROBES, RunDirectory
from normexp.report.figures.chart import Chart, Panel
from normexp.report.figures.styles import Style
from normexp.report.figures.subject import Subject

MIDDLE = "p50"
MIDDLE_STYLE, OUTER_STYLE = Style("#0072B2"), Style("#4B4E9C", (3.0, 1.2))


def percentiles(subject: Subject[Percentiles]) -> Chart:
    layer = subject.spec.layer
    runs = subject.one_seed(subject.spec.seed)
    data = pd.concat([_levels(subject, run, layer).assign(panel=subject.name(cell)) for cell, run in runs.items()])
    levels = reversed(list(dict.fromkeys(data["statistic"])))
    styles = {_words(level): MIDDLE_STYLE if level == MIDDLE else OUTER_STYLE for level in levels}
    labels = {"x": subject.words("x", "step"), "y": subject.words("y", f"input to {layer}")}
    panels = {subject.name(cell): Panel(subject.name(cell)) for cell in runs}
    given: dict[str, Any] = {"colour": "level", "panel": "panel", "panels": panels, "styles": styles, "labels": labels}
    return subject.chart(data, mark="line", x="step", y="value", **given)


def _words(statistic: str) -> str:
    return "median" if statistic == MIDDLE else f"{statistic.removeprefix('p')}th percentile"


def _levels(subject: Subject[Percentiles], run: RunDirectory, layer: str) -> pd.DataFrame:
    """Return step, statistic, level and value of one layer. Raises UserError where the run recorded none."""
    rows = [row for row in run.rows(PROBES) if row["layer"] == layer]
    if not rows:
        raise subject.error(f"{run.path / PROBES} has nothing on {layer!r}; was it run with probe=percentiles?")
    found = pd.DataFrame(rows).astype({"step": int, "value": float})
    return found.assign(level=found["statistic"].map(_words))
