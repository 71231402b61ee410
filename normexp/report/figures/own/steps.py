"""After how many steps each run first reached a target; what never did stands at a place of its own."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from normexp.evidence.metrics import better_direction
from normexp.experiments.figure_kinds import StepsToTarget
from normexp.report.figures.chart import Chart
from normexp.report.figures.context import FigureContext, sorted_by
from normexp.report.frames.measured import runs_of
from normexp.report.metrics import factor, title
from normexp.report.steps_to_target import steps_by_seed


def steps_to_target(context: FigureContext[StepsToTarget]) -> Chart:
    spec = context.spec
    better = spec.better or better_direction(spec.metric)
    assert better is not None  # a figure has the one or the other
    rows = [
        {"line": context.name(cell), "run": seed, "steps": each.step, "ended": context.runs[cell][seed].diverged}
        for cell in context.runs
        for seed, each in steps_by_seed(context.measured, cell, spec.metric, spec.target, better).items()
    ]
    if not rows:
        raise context.error(f"no run of its arms knows its target, {spec.target}")
    data = pd.DataFrame(rows)
    if spec.sort:
        order = data.groupby("line", sort=False)["steps"].median().sort_values(kind="stable").index
        data = sorted_by(data, "line", order)
    meaning = f"First evaluation with {_goal(context, better)}.{_never(context, data)}"
    labels = {"x": context.words("x", f"steps to {_goal(context, better)}")}
    given: dict[str, Any] = {"styles": context.row_styles(), "labels": labels, "sentences": (meaning,)}
    return context.chart(data, mark="point", x="steps", y="line", **given)


def _goal(context: FigureContext[StepsToTarget], better: str) -> str:
    metric, target = context.spec.metric, context.spec.target
    goal = f"the {target} with the same seed" if isinstance(target, str) else f"{factor(metric) * target:g}"
    return f"{title(metric)} {'≥' if better == 'higher' else '≤'} {goal}"


def _never(context: FigureContext[StepsToTarget], data: pd.DataFrame) -> str:
    if not data["steps"].map(math.isinf).any():
        return ""
    longest = max(int(run.step[-1]) for run in runs_of(context.runs) if len(run.step))
    return f" Never: not within the steps trained, at most {longest:,}."
