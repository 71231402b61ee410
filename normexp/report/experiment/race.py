"""Steps to a target, run by run: what the figures and the tables of an experiment show of it."""

from __future__ import annotations

import math

from normexp.evidence.claims.reading import best
from normexp.evidence.curves import Cell
from normexp.evidence.stats import Steps, steps_to_target
from normexp.experiments.shape import BEST_OF
from normexp.report.experiment.measured import Measured

Target = float | int | str  # a number, or `best of ARM`


def steps_of(found: Measured, cell: Cell, metric: str, target: Target, better: str) -> dict[int, Steps]:
    """Return seed -> steps to the target; a seed for which the target is not known is left out."""
    goals = _targets(found, cell, metric, target, better)
    steps = {}
    for seed, run in found.curves.get(cell, {}).items():
        values = run.column(metric)
        goal = goals.get(seed, math.nan)
        steps[seed] = steps_to_target(run.step.tolist(), values.tolist(), goal, better == "higher", run.diverged)
    return {seed: each for seed, each in steps.items() if not math.isnan(each.step)}


def _targets(found: Measured, cell: Cell, metric: str, target: Target, better: str) -> dict[int, float]:
    """Return seed -> target: one number for all, or the best value of the named arm's run with that seed."""
    if not isinstance(target, str):
        return dict.fromkeys(found.curves.get(cell, {}), float(target))
    rival = Cell(target.removeprefix(BEST_OF), cell.point)
    return {seed: best(run, metric, better) for seed, run in found.curves.get(rival, {}).items()}
