"""After how many steps each run first reached a target; what never did stands in a column of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from normexp.evidence.curves import Cell, Curve, better_direction
from normexp.evidence.stats import median
from normexp.report.experiment.drawings.axis import Axis, beyond_note, set_x
from normexp.report.experiment.drawings.rows import Row, row_figure
from normexp.report.experiment.drawings.subject import Subject, factor
from normexp.report.experiment.race import steps_of
from normexp.report.measurements import title

NEVER_X, NEVER_WIDTH = 1.03, 0.14  # of the panel's width: where the column begins, how wide it is
APART = (0.0, 0.22, -0.22, 0.11, -0.11)  # of a row: where seeds with equally many steps lie


def steps_figure(subject: Subject) -> Figure:
    better = subject.spec.get("better") or better_direction(subject.spec["metric"])
    if better is None:
        raise subject.error(f"metric {subject.spec['metric']!r} does not tell what is better; add better: higher|lower")
    metric, target = subject.spec["metric"], subject.spec["target"]
    races = {cell: steps_of(subject.found, cell, metric, target, better) for cell in subject.runs}
    found = {cell: {seed: each.step for seed, each in race.items()} for cell, race in races.items()}
    reached = [step for runs in found.values() for step in runs.values() if math.isfinite(step)]
    x = Axis.over([np.array(reached or [1.0]), np.zeros(0 if subject.log("x") else 1)], subject.log("x"))
    captions = subject.captions(_meaning(subject, better, found), beyond_note([x]))
    rows = [Row(subject.name(cell), subject.row_color(cell)) for cell in found]
    figure, axes, heights = row_figure(subject, rows, captions, right=0.75)
    set_x(axes, x if x.log else replace(x, low=0.0))
    axes.set_xlabel(subject.label("x", "steps to the target"))
    _never_column(axes)
    for height, (cell, runs) in zip(heights, found.items(), strict=True):
        places = {seed: x.at(step) for seed, step in runs.items()}
        _draw(axes, height, subject.row_color(cell), places, x.at(median(runs.values())), subject.runs[cell])
    return figure


def _draw(
    axes: Axes, height: float, color: str, steps: Mapping[int, float], middle: float, runs: Mapping[int, Curve]
) -> None:
    """Draw a dot per seed and a bar at the median; a run that diverged is a cross."""
    so_far: Counter[float] = Counter()
    for seed, step in steps.items():
        place = height + APART[so_far[step] % len(APART)]
        so_far[step] += 1
        mark = {"marker": "x", "markersize": 4} if runs[seed].diverged else {"marker": "o", "markersize": 3}
        _put(axes, step, place, color=color, alpha=0.75, **mark)
    _put(axes, middle, height, color=color, marker="|", alpha=0.5, markersize=14, markeredgewidth=2.5)


def _put(axes: Axes, step: float, height: float, **style: Any) -> None:
    """Draw a mark at a number of steps, or in the column of those that never got there."""
    if math.isfinite(step):
        axes.plot(step, height, clip_on=False, **style)
    elif math.isinf(step):
        axes.plot(NEVER_X + NEVER_WIDTH / 2, height, clip_on=False, transform=axes.get_yaxis_transform(), **style)


def _never_column(axes: Axes) -> None:
    style: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    axes.add_patch(Rectangle((NEVER_X, 0), NEVER_WIDTH, 1, facecolor="#f0f0f0", edgecolor="none", zorder=0, **style))
    axes.text(NEVER_X + NEVER_WIDTH / 2, 0, "never\n", va="top", ha="center", size=7, **style)


def _meaning(subject: Subject, better: str, found: Mapping[Cell, Mapping[int, float]]) -> str:
    metric, target = subject.spec["metric"], subject.spec["target"]
    goal = f"the {target} with the same seed" if isinstance(target, str) else f"{factor(metric) * target:g}"
    sign = "≥" if better == "higher" else "≤"
    text = f"First evaluation with {title(metric)} {sign} {goal}. Dots: seeds; bar: median."
    if any(math.isinf(step) for runs in found.values() for step in runs.values()):
        longest = max(int(run.step[-1]) for runs in subject.runs.values() for run in runs.values() if len(run.step))
        text += f" Never: not within the steps trained, at most {longest:,}."
    if any(run.diverged for runs in subject.runs.values() for run in runs.values()):
        text += " Crosses: runs that diverged."
    return text
