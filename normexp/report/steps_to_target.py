"""Steps to a target, run by run: what the figures and the tables of an experiment show of it."""

from __future__ import annotations

import math

from normexp.evidence.best_of import BEST_OF
from normexp.evidence.claims.steps_of_runs import best_by_seed, steps_of_each
from normexp.evidence.curves import Cell
from normexp.evidence.reading import MissingRuns
from normexp.evidence.stats import Steps
from normexp.report.frames.measured import Measured

Target = float | int | str  # a number, or `best of ARM`


def steps_by_seed(measured: Measured, cell: Cell, metric: str, target: Target, better: str) -> dict[int, Steps]:
    """Return seed -> steps to the target: one number for all, or the best value of the named arm's run with that seed.

    A seed for which the target is not known is left out; nothing is known where a run lacks the metric.
    """
    runs = measured.curves.get(cell, {})
    try:
        targets = _targets(measured, cell, metric, target, better)
        known = {seed: run for seed, run in runs.items() if not math.isnan(targets.get(seed, math.nan))}
        return steps_of_each(known, metric, targets, better)
    except MissingRuns:
        return {}


def _targets(measured: Measured, cell: Cell, metric: str, target: Target, better: str) -> dict[int, float]:
    if not isinstance(target, str):
        return dict.fromkeys(measured.curves.get(cell, {}), float(target))
    rival = Cell(target.removeprefix(BEST_OF), cell.point)
    return best_by_seed(measured.curves.get(rival, {}), metric, better)
