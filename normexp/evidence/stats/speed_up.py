"""How many times fewer steps one arm needs than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from normexp.evidence.stats.estimates import PointEstimate, paired, shared_seeds
from normexp.evidence.stats.interval import Interval
from normexp.evidence.stats.level import CONFIDENCE
from normexp.evidence.stats.rank_sum import Bounds, RankSumTest
from normexp.evidence.stats.steps import Steps, same_evaluations
from normexp.evidence.stats.summary import median


@dataclass(frozen=True)
class CensoredRatio:
    """The logarithm of a ratio of steps that are known between two evaluations only.

    The interval allows for every update at which the runs may have met the target between evaluations, so it is never
    narrower than the evaluation grid. That the ratio is 1 is tested on the evaluations themselves where both arms were
    evaluated at the same steps: runs that are alike are then rounded alike, so the level holds on any grid.

    Args:
        observed: at the evaluations.
        least, largest: were the target met as late (early) by the arm and as early (late) by the baseline as may be.
        one_grid: both arms were evaluated at the same steps.
    """

    observed: PointEstimate
    least: PointEstimate
    largest: PointEstimate
    one_grid: bool = True

    @property
    def value(self) -> float:
        return self.observed.value

    @property
    def n(self) -> int:
        return self.observed.n

    @property
    def method(self) -> str:
        return f"{self.observed.method}, interval over the evaluation grid"

    @property
    def sd(self) -> float | None:
        return self.observed.sd

    def confidence_interval(self, confidence: float = CONFIDENCE) -> Interval:
        ends = [each.confidence_interval(confidence) for each in (self.least, self.observed, self.largest)]
        return Interval(min(end.low for end in ends), max(end.high for end in ends))

    def p_above(self, bound: float) -> float:
        return self._above(bound).p_above(bound)

    def p_below(self, bound: float) -> float:
        return self._below(bound).p_below(bound)

    def deciding(self, region: Interval) -> PointEstimate | None:
        """Return the estimate on which more seeds would decide; None where the evaluations are too far apart for it."""
        ends = sorted((region.low, region.high), key=lambda end: abs(self.value - end))
        above = self.value > ends[0]
        found = (self._above if above else self._below)(ends[0])
        return found if (found.value > ends[0]) == above else None

    def _above(self, bound: float) -> PointEstimate:
        return self.observed if bound == 0 and self.one_grid else self.least

    def _below(self, bound: float) -> PointEstimate:
        return self.observed if bound == 0 and self.one_grid else self.largest


@dataclass(frozen=True)
class SpeedUp:
    """Steps of the baseline over steps of the arm; above 1 the arm is faster.

    Args:
        estimate: of log(ratio): paired t where every run of both reached the target, otherwise by rank, where `never`
            is worse than any number seen, but by an unknown factor if the run merely ended. None for fewer than
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

    def confidence_interval(self, confidence: float = CONFIDENCE) -> Interval | None:
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
    seen = [[_log(steps.bounds) for steps in each] for each in (theirs, ours)]
    grid = [[_log(steps.update_bounds) for steps in each] for each in (theirs, ours)]
    observed, one_grid = _paired(*([low for low, _ in each] for each in seen)), same_evaluations((*theirs, *ours))
    if not all(steps.reached for steps in (*theirs, *ours)) or isinstance(observed, RankSumTest):
        observed, by_rank = (RankSumTest(tuple(first), tuple(second)) for first, second in (seen, grid))
        return CensoredRatio(observed, by_rank, by_rank, one_grid)
    least = _paired([low for low, _ in grid[0]], [high for _, high in grid[1]])
    return CensoredRatio(observed, least, _paired([high for _, high in grid[0]], [low for low, _ in grid[1]]), one_grid)


def _paired(theirs: Sequence[float], ours: Sequence[float]) -> PointEstimate:
    estimate = paired(dict(enumerate(theirs)), dict(enumerate(ours)))
    assert estimate is not None  # two runs at least
    return estimate


def _log(bounds: Bounds) -> Bounds:
    return logarithm(bounds[0]), logarithm(bounds[1])
