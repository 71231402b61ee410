"""From a curve to one number: what a run reached at a place of it. Claims, tables and figures read it alike."""

from __future__ import annotations

import math

import numpy as np

from normexp.evidence.curves import Column, Curve
from normexp.evidence.metrics import worst


class MissingRuns(Exception):
    """What is asked of runs is not there; the message says which."""


def step_of(at: str) -> int | None:
    """Return N of `step N`; None of another place on the curves."""
    return int(at.removeprefix("step ")) if at.startswith("step ") else None


def value_at(curve: Curve, metric: str, at: str, better: str | None) -> float:
    """Return the metric at the last evaluation, at its best, on average, how far it ranges, or at a step (the last
    evaluation by then).

    A run that diverged, or whose value is not finite, has the worst value there is (-inf or inf), NaN where the
    metric's direction is not known. `step N` before the divergence is a value like any other.
    Raises MissingRuns where the run has no such metric, or ended before the step.
    """
    step = step_of(at)
    if curve.diverged and (step is None or curve.diverged_at is None or step >= curve.diverged_at):
        return worst(better)
    column = column_of(curve, metric)
    value = _at_step(curve, column, step) if step is not None else _over_all(column, at, better)
    return value if math.isfinite(value) else worst(better)


def best(curve: Curve, metric: str, better: str | None) -> float:
    """Return the best finite value of a metric, also of a run that diverged later; NaN where it has none."""
    return _over_all(column_of(curve, metric), "best", better)


def column_of(curve: Curve, metric: str) -> Column:
    """Return a metric's values; a run that diverged before its first evaluation may have none.

    Raises: MissingRuns where another run has none.
    """
    if metric in curve.columns and len(curve.step):
        return curve.columns[metric]
    if curve.diverged:
        return np.full(len(curve.step), np.nan)
    raise MissingRuns(f"a run has no {metric}")


def _at_step(curve: Curve, column: Column, step: int) -> float:
    if not curve.diverged and step > curve.step[-1]:
        raise MissingRuns(f"a run ends at step {curve.step[-1]}, before step {step}")
    by_then = np.flatnonzero(curve.step <= step)
    return float(column[by_then[-1]]) if len(by_then) else math.nan


def _over_all(column: Column, at: str, better: str | None) -> float:
    """Return the last, the mean or the best finite value, or the largest minus the smallest of those there are."""
    if at == "mean":  # nothing is trained before step 0, so a training metric is empty there
        return float(column[1:].mean() if len(column) > 1 and np.isnan(column[0]) else column.mean())
    if at == "last":
        return float(column[-1])
    if at == "range":  # of an infinite value it is not finite, and no result
        known = column[~np.isnan(column)]
        return float(known.max()) - float(known.min()) if len(known) else math.nan
    finite = column[np.isfinite(column)]
    return float(finite.max() if better == "higher" else finite.min()) if len(finite) else math.nan
