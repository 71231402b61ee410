"""Percentiles of one layer's input over training, a panel per arm, from one seed's probes.csv."""

from __future__ import annotations

import pandas as pd

from normexp.experiments.figures import Percentiles
from normexp.records import PROBES, RunDirectory
from normexp.report.figures.chart import Chart, Panel
from normexp.report.figures.styles import Style
from normexp.report.figures.subject import Subject

OUTER, MIDDLE = (3.0, 1.2), "p50"


def percentiles(subject: Subject[Percentiles]) -> Chart:
    layer = subject.spec.layer
    runs = subject.one_seed(subject.spec.seed)
    data = pd.concat([_levels(subject, run, layer).assign(panel=subject.name(cell)) for cell, run in runs.items()])
    styles = {
        f"{level.removeprefix('p')} %": Style(
            "#0072B2" if level == MIDDLE else "#4B4E9C", () if level == MIDDLE else OUTER
        )
        for level in reversed(list(dict.fromkeys(data["statistic"])))
    }
    labels = {"x": subject.words("x", "step"), "y": subject.words("y", f"input to {layer}")}
    panels = {subject.name(cell): Panel(subject.name(cell)) for cell in runs}
    return subject.chart(
        data,
        mark="line",
        x="step",
        y="value",
        colour="level",
        panel="panel",
        panels=panels,
        styles=styles,
        labels=labels,
    )


def _levels(subject: Subject[Percentiles], run: RunDirectory, layer: str) -> pd.DataFrame:
    """Return step, statistic, level and value of one layer. Raises UserError where the run recorded none."""
    rows = [row for row in run.rows(PROBES) if row["layer"] == layer]
    if not rows:
        raise subject.error(f"{run.path / PROBES} has nothing on {layer!r}; was it run with probe=percentiles?")
    found = pd.DataFrame(rows).astype({"step": int, "value": float})
    return found.assign(level=found["statistic"].str.removeprefix("p") + " %")
