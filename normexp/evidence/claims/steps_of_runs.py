"""Steps to a target: one number for all seeds, or what the other arm's run of the same seed reached at its best."""

from __future__ import annotations

import math
from collections.abc import Mapping

from normexp.evidence.claims.estimands import Count, StepsToTarget
from normexp.evidence.claims.fields import Place
from normexp.evidence.claims.reading import Runs
from normexp.evidence.curves import Curve
from normexp.evidence.reading import best, column_of
from normexp.evidence.stats import Steps, steps_to_target


def goal(claim: StepsToTarget | Count) -> str:
    target = f"the best of {claim.target}" if isinstance(claim.target, Place) else f"{claim.target:.4g}"
    return f"{claim.metric} {target}"


def targets(claim: StepsToTarget | Count, reference: Runs, *arms: Runs) -> dict[int, float]:
    """Return the target of every seed."""
    if isinstance(claim.target, Place):
        return best_by_seed(reference, claim.metric, claim.better)
    assert isinstance(claim.target, float)  # a list is looked at target by target
    return {seed: claim.target for runs in arms for seed in runs}


def best_by_seed(reference: Runs, metric: str, better: str | None) -> dict[int, float]:
    """Return the targets that the runs of an arm set."""
    return {seed: best(curve, metric, better) for seed, curve in reference.items()}


def steps(claim: StepsToTarget | Count, runs: Runs, wanted: Mapping[int, float]) -> dict[int, Steps]:
    return steps_of_each(runs, claim.metric, wanted, claim.better)


def steps_of_each(runs: Runs, metric: str, wanted: Mapping[int, float], better: str | None) -> dict[int, Steps]:
    """Return the steps to the target of every run; a seed without a target has an unknown number of them."""
    return {
        seed: steps_of(curve, metric, wanted.get(seed, math.nan), better == "higher") for seed, curve in runs.items()
    }


def steps_of(curve: Curve, metric: str, target: float, larger_is_better: bool) -> Steps:
    values = column_of(curve, metric).tolist()
    return steps_to_target(curve.step.tolist(), values, target, larger_is_better, diverged=curve.diverged)
