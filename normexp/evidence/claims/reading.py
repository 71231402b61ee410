"""From curves to one number per seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from normexp.evidence.claims.claim import Measured
from normexp.evidence.claims.fields import Place, step_of
from normexp.evidence.curves import Column, Curve, Curves, Point, short_commit

Runs = Mapping[int, Curve]  # seed -> finished run
Values = dict[int, float]  # seed -> value


class MissingRuns(Exception):
    """The runs that a claim needs are not there; the message says which."""


def runs_by_point(curves: Curves, place: Place) -> dict[Point, Runs]:
    """Return the finished runs of a place, by the axes that it leaves open. Raises MissingRuns if there are none.

    Diverged runs are finished. Whatever else did not finish is no result, and `unfinished` counts it.
    """
    fixed = dict(place.point)
    found: dict[Point, Runs] = {}
    for cell, by_seed in curves.items():
        point = dict(cell.point)
        if cell.arm == place.arm and all(axis in point and point[axis] == value for axis, value in place.point):
            open_axes = tuple(sorted((axis, value) for axis, value in point.items() if axis not in fixed))
            found[open_axes] = {seed: curve for seed, curve in by_seed.items() if curve.finished}
    if not any(found.values()):
        raise MissingRuns(f"no finished run of {place}")
    return found


def shared_points(curves: Curves, *places: Place) -> Iterator[tuple[Point, list[Runs]]]:
    """Yield every point with the runs of all places. Raises MissingRuns where one place lacks a point."""
    found = [runs_by_point(curves, place) for place in places]
    for point in dict.fromkeys(point for each in found for point in each):
        for place, each in zip(places, found, strict=True):
            if not each.get(point):
                raise MissingRuns(f"no finished run of {Place(place.arm, (*place.point, *point))}")
        yield point, [each[point] for each in found]


def unfinished(curves: Curves, arms: set[str]) -> int:
    """Return how many runs of these arms have no result yet."""
    return sum(not curve.finished for cell, runs in curves.items() if cell.arm in arms for curve in runs.values())


def different_origins(curves: Curves, arms: set[str]) -> Iterator[str]:
    """Say where the arms of one comparison come from different commits or processors, and which."""
    for what in ("commit", "processor"):
        by_arm: dict[str, set[str]] = {}
        for cell, runs in curves.items():
            if cell.arm in arms:
                by_arm.setdefault(cell.arm, set()).update(getattr(run.made, what) for run in runs.values())
        if len(set().union(*by_arm.values())) > 1:
            named = (f"{arm} {', '.join(short_commit(each) if what == 'commit' else each for each in sorted(found))}"
                     for arm, found in by_arm.items())  # fmt: skip
            yield f"from different {what}s: {'; '.join(named)}"


def values(claim: Measured, runs: Runs) -> Values:
    return {seed: value_at(curve, claim.metric, claim.at, claim.better) for seed, curve in runs.items()}


def values_by_point(claim: Measured, curves: Curves) -> dict[Point, Values]:
    """Return the arm's values, by the axes that the claim leaves open."""
    return {point: values(claim, runs) for point, runs in runs_by_point(curves, claim.of).items()}


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


def worst(better: str | None) -> float:
    return {"higher": -math.inf, "lower": math.inf, None: math.nan}[better]


def best(curve: Curve, metric: str, better: str | None) -> float:
    """Return the best finite value of a metric, also of a run that diverged later; NaN where it has none."""
    return _over_all(column_of(curve, metric), "best", better)


def column_of(curve: Curve, metric: str) -> Column:
    """Return a metric's values; a run that diverged before its first evaluation may have none."""
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
