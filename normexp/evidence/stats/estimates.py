"""Which estimate a sample gets: t where every value is finite and they differ, ranks otherwise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from normexp.evidence.stats.interval import Interval
from normexp.evidence.stats.level import CONFIDENCE
from normexp.evidence.stats.rank_sum import RankSumTest
from normexp.evidence.stats.sign_test import SignTest
from normexp.evidence.stats.summary import standard_deviation
from normexp.evidence.stats.t_test import TTest

ROUNDING = 1e-12  # relative; a spread below it is the rounding of equal numbers


class PointEstimate(Protocol):
    """One number with its uncertainty; the p-values are one-sided. `sd` is between seeds, None of ranks and signs."""

    @property
    def value(self) -> float: ...
    @property
    def n(self) -> int: ...
    @property
    def method(self) -> str: ...
    @property
    def sd(self) -> float | None: ...
    def confidence_interval(self, confidence: float = CONFIDENCE) -> Interval: ...
    def p_above(self, bound: float) -> float: ...
    def p_below(self, bound: float) -> float: ...


def one_sample(values: Sequence[float]) -> PointEstimate | None:
    """Estimate the centre of a sample; None for fewer than two values.

    Equal values (two accuracies may well coincide) have no spread to judge by, so they go to the sign test.
    """
    if len(values) < 2:
        return None
    return TTest(tuple(values)) if _has_spread(values, values) else SignTest(tuple(values))


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> PointEstimate | None:
    """Estimate `first` minus `second` over the seeds that both have; None for fewer than two of them.

    Where a run diverged, or all differences are equal, pairs say too little (five cannot reach p = 0.05 by their
    signs alone), and the arms are compared by rank.
    """
    seeds = shared_seeds(first, second)
    if len(seeds) < 2:
        return None
    ours, theirs = [first[seed] for seed in seeds], [second[seed] for seed in seeds]
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    return (
        TTest(tuple(differences), "paired t")
        if _has_spread(differences, ours + theirs)
        else RankSumTest.of(ours, theirs)
    )


def paired_differences(first: Mapping[int, float], second: Mapping[int, float]) -> dict[int, float]:
    """Return `first` minus `second` by seed, NaN between two that diverged. Seeds that only one has are no pair."""
    return {seed: first[seed] - second[seed] for seed in shared_seeds(first, second)}


def shared_seeds(first: Mapping[int, object], second: Mapping[int, object]) -> list[int]:
    return sorted(first.keys() & second.keys())


def _has_spread(values: Sequence[float], scale: Sequence[float]) -> bool:
    if not all(map(math.isfinite, values)):
        return False
    return standard_deviation(values) > ROUNDING * max(map(abs, scale))
