"""Speed-ups over a range of targets, and the area between two learning curves: what no single target shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from normexp.evidence.claims.reading import Runs
from normexp.evidence.claims.steps_of_runs import steps_of
from normexp.evidence.curves import Column, Curve
from normexp.evidence.reading import MissingRuns, best
from normexp.evidence.stats import EquivalenceTest, Interval, PointEstimate, confidence_of, median, paired, speed_up

POINTS = 9
CEILING = 0.002  # of an accuracy: nearer to 1 a test set of a thousand does not tell arms apart


def over_targets(theirs: Runs, ours: Runs, metric: str, larger_is_better: bool, share: float = 1.0) -> dict[str, Any]:
    """Return {targets: one entry per target, area: mean difference over training}, for claims.json.

    Args:
        theirs, ours: seed -> run of the baseline and of the arm.
        share: of the level, of these runs' look: p and intervals then hold at all looks together.
    """
    pairs = {seed: (theirs[seed], ours[seed]) for seed in theirs.keys() & ours.keys()}
    if len(pairs) < 2:
        return {}
    first, second = ({seed: pair[i] for seed, pair in sorted(pairs.items())} for i in (0, 1))
    wanted = target_range(first, second, metric, larger_is_better)
    return {
        "targets": [_at(target, first, second, metric, larger_is_better, share) for target in wanted],
        "area": area_between(first, second, metric, share),
    }


def target_range(theirs: Runs, ours: Runs, metric: str, larger_is_better: bool) -> list[float]:
    """Return targets from what both arms have early to what both reach: even steps in the logarithm of the distance.

    The distance is the metric itself, and where more is better that to 1, as of an accuracy. Early is the first
    evaluation after step 0, at the worse arm's median; the end is the worse arm's median best.
    """
    better = "higher" if larger_is_better else "lower"
    arms, worse = (theirs.values(), ours.values()), min if larger_is_better else max
    try:
        last = worse(median((best(run, metric, better) for run in arm), larger_is_better) for arm in arms)
        early = worse(median((_early(run, metric) for run in arm), larger_is_better) for arm in arms)
    except MissingRuns:
        return []
    far, near = (1 - early, max(1 - last, CEILING)) if larger_is_better else (early, last)
    if not 0 < near < far < math.inf:
        return []
    levels = (far * (near / far) ** (i / (POINTS - 1)) for i in range(POINTS))
    return [float(f"{1 - level if larger_is_better else level:.4g}") for level in levels]


def area_between(theirs: Runs, ours: Runs, metric: str, share: float) -> dict[str, Any] | None:
    """Return the arm's mean over training minus the baseline's: the area between the curves over its length."""
    estimate = paired(
        *({seed: mean_over_training(run, metric) for seed, run in runs.items()} for runs in (ours, theirs))
    )
    if estimate is None or math.isnan(estimate.value):
        return None
    return {
        "difference": estimate.value,
        **vars(estimate.confidence_interval(confidence_of(share))),
        "p": _p(estimate, share),
        "method": estimate.method,
    }


def mean_over_training(run: Curve, metric: str) -> float:
    """Return the area under a run's curve over its length, by trapezoids; NaN of a run that diverged."""
    values, steps = run.columns.get(metric), run.step
    if run.diverged or values is None:
        return math.nan
    there = np.isfinite(values)
    steps, values = steps[there], values[there]
    if len(steps) < 2:
        return math.nan
    return float(np.diff(steps) @ (values[1:] + values[:-1]) / 2 / (steps[-1] - steps[0]))


def _at(target: float, theirs: Runs, ours: Runs, metric: str, larger_is_better: bool, share: float) -> dict[str, Any]:
    first, second = ({seed: steps_of(run, metric, target, larger_is_better) for seed, run in runs.items()}
                     for runs in (theirs, ours))  # fmt: skip
    race = speed_up(first, second)
    interval = race.confidence_interval(confidence_of(share))
    assert interval is not None  # there are two pairs
    return {
        "target": target,
        "speed_up": race.ratio,
        **vars(interval),
        "p": _p(race.estimate, share) if race.estimate else math.nan,
        "baseline": race.baseline,
        "arm": race.arm,
        "never": list(race.never),
    }


def _p(estimate: PointEstimate, share: float) -> float:
    return min(1.0, EquivalenceTest.of(estimate, Interval(0.0, math.inf)).p / share)


def _early(run: Curve, metric: str) -> float:
    """Return the first value after step 0; NaN where there is none."""
    values: Column = run.columns.get(metric, np.array([]))
    later = [float(value) for step, value in zip(run.step, values, strict=False) if step > 0 and math.isfinite(value)]
    return later[0] if later else math.nan
