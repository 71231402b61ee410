"""How many times fewer steps one arm needs than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from normexp.evidence.stats.estimates import PointEstimate, paired, shared_seeds
from normexp.evidence.stats.interval import Interval
from normexp.evidence.stats.rank_sum import Bounds, RankSumTest
from normexp.evidence.stats.steps import Steps
from normexp.evidence.stats.summary import median


@dataclass(frozen=True)
class SpeedUp:
    """Steps of the baseline over steps of the arm; above 1 the arm is faster.

    Args:
        estimate: of log(ratio): t where every run of both reached the target, otherwise by rank, where `never` is
            worse than any number seen, but by an unknown factor if the run merely ended. None for fewer than
            two pairs.
        baseline, arm: median steps; inf is never.
        never: how many runs of the baseline and of the arm never reached it, of n each.
    """

    estimate: PointEstimate | None
    baseline: float
    arm: float
    never: tuple[int, int]
    n: int

    @property
    def ratio(self) -> float:
        """NaN where it depends on how long a run that merely ended would still have taken."""
        return exponential(self.estimate.value) if self.estimate else math.nan

    def confidence_interval(self, confidence: float = 0.95) -> Interval | None:
        if self.estimate is None:
            return None
        log = self.estimate.confidence_interval(confidence)
        return Interval(exponential(log.low), exponential(log.high))


def speed_up(baseline: Mapping[int, Steps], arm: Mapping[int, Steps]) -> SpeedUp:
    """Compare two arms over the seeds that both have."""
    seeds = shared_seeds(baseline, arm)
    theirs, ours = [baseline[seed] for seed in seeds], [arm[seed] for seed in seeds]
    never = sum(not steps.reached for steps in theirs), sum(not steps.reached for steps in ours)
    baseline_median, arm_median = (median(steps.step for steps in each) for each in (theirs, ours))
    return SpeedUp(_estimate(theirs, ours), baseline_median, arm_median, never, len(seeds))


def logarithm(value: float) -> float:
    """Return the natural logarithm of a number that is not negative; -inf of 0 (met before training)."""
    return math.log(value) if value > 0 else -math.inf


def exponential(value: float) -> float:
    """Return e to the power; inf where that is too large to write."""
    return math.exp(value) if value < 700 else value * math.inf


def _estimate(theirs: Sequence[Steps], ours: Sequence[Steps]) -> PointEstimate | None:
    if len(ours) < 2:
        return None
    if all(steps.reached for steps in (*theirs, *ours)):
        return paired(*({i: logarithm(steps.step) for i, steps in enumerate(each)} for each in (theirs, ours)))
    return RankSumTest(tuple(map(_log_bounds, theirs)), tuple(map(_log_bounds, ours)))


def _log_bounds(steps: Steps) -> Bounds:
    low, high = steps.bounds
    return logarithm(low), logarithm(high)
