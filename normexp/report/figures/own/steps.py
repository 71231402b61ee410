"""After how many steps each run first reached a target; what never did stands at a place of its own."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from normexp.evidence.curves import better_direction
from normexp.experiments.figures import StepsToTarget
from normexp.report.experiment.steps_to_target import steps_by_seed
from normexp.report.figures.chart import Chart
from normexp.report.figures.subject import Subject
from normexp.report.measurements import factor, title


def steps_to_target(subject: Subject[StepsToTarget]) -> Chart:
    spec = subject.spec
    better = spec.better or better_direction(spec.metric)
    if better is None:
        raise subject.error(f"metric {spec.metric!r} does not tell what is better; add better: higher|lower")
    rows = [
        {"line": subject.name(cell), "run": seed, "steps": each.step, "ended": subject.runs[cell][seed].diverged}
        for cell in subject.runs
        for seed, each in steps_by_seed(subject.found, cell, spec.metric, spec.target, better).items()
    ]
    if not rows:
        raise subject.error(f"no run of its arms knows its target, {spec.target}")
    data = pd.DataFrame(rows)
    if spec.sort:
        order = data.groupby("line", sort=False)["steps"].median().sort_values(kind="stable").index
        data = data.assign(line=pd.Categorical(data["line"], order)).sort_values("line", kind="stable")
        data = data.astype({"line": str})
    meaning = f"First evaluation with {_goal(subject, better)}.{_never(subject, data)}"
    labels = {"x": subject.words("x", f"steps to {_goal(subject, better)}")}
    given: dict[str, Any] = {"styles": subject.row_styles(), "labels": labels, "sentences": (meaning,)}
    return subject.chart(data, mark="point", x="steps", y="line", **given)


def _goal(subject: Subject[StepsToTarget], better: str) -> str:
    metric, target = subject.spec.metric, subject.spec.target
    goal = f"the {target} with the same seed" if isinstance(target, str) else f"{factor(metric) * target:g}"
    return f"{title(metric)} {'≥' if better == 'higher' else '≤'} {goal}"


def _never(subject: Subject[StepsToTarget], data: pd.DataFrame) -> str:
    if not data["steps"].map(math.isinf).any():
        return ""
    longest = max(int(run.step[-1]) for runs in subject.runs.values() for run in runs.values() if len(run.step))
    return f" Never: not within the steps trained, at most {longest:,}."
