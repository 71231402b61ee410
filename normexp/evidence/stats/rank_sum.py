"""The rank-sum test: how far one arm is shifted from another, where values may be infinite or known only in part.

A diverged run has the worst rank (Lachin 1999, "Worst-rank score analysis"), so it needs no invented value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from normexp.evidence.stats.interval import EVERYTHING, Interval
from normexp.evidence.stats.last_bits import without_last_bits
from normexp.evidence.stats.level import CONFIDENCE
from normexp.evidence.stats.summary import middle

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float]  # the least and the largest that a value may be
EXACT = 100  # values of an arm: of more, rank sums are normal to three digits, and to count them takes minutes


@dataclass(frozen=True)
class RankSumTest:
    """The shift of `first` against `second` (Hodges & Lehmann), with exact p-values, ties included; of more than a
    hundred values in an arm with those of the normal distribution, corrected for ties and continuity.

    Every value comes with its bounds, equal where it is known. Whatever is not known counts against what is asked. The
    arms are two samples here, not pairs.
    Source: Hollander & Wolfe, "Nonparametric Statistical Methods".
    """

    first: tuple[Bounds, ...]
    second: tuple[Bounds, ...]
    method: str = "unpaired rank-sum"
    sd: None = None

    @staticmethod
    def of(first: Sequence[float], second: Sequence[float]) -> RankSumTest:
        """Build it from plain values; NaN may be anything."""
        return RankSumTest(tuple(map(_bounds, first)), tuple(map(_bounds, second)))

    @property
    def n(self) -> int:
        """The number of values in the smaller sample."""
        return min(len(self.first), len(self.second))

    @property
    def value(self) -> float:
        """The median of all pairwise differences; NaN where it depends on what is not known."""
        least, largest = self._differences()
        low, high = middle(least), middle(largest)
        return low if low == high else math.nan

    def confidence_interval(self, confidence: float = CONFIDENCE) -> Interval:
        least, largest = self._differences()
        depth = _depth(len(self.first), len(self.second), (1 - confidence) / 2)
        if depth == 0:
            return EVERYTHING
        return Interval(least[depth - 1], largest[-depth])

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value against "shifted by at most `bound`"."""
        ours = [low - min(bound, 0) for low, _ in self.first]
        return _p_larger(ours, [high + max(bound, 0) for _, high in self.second])

    def p_below(self, bound: float) -> float:
        """Return the one-sided p-value against "shifted by at least `bound`"."""
        theirs = [low + max(bound, 0) for low, _ in self.second]
        return _p_larger(theirs, [high - min(bound, 0) for _, high in self.first])

    def _differences(self) -> tuple[list[float], list[float]]:
        """Return the sorted pairwise differences, each at its least and at its largest."""
        pairs = [(first, second) for first in self.first for second in self.second]
        least = sorted(_minus(first[0], second[1], -math.inf) for first, second in pairs)
        return least, sorted(_minus(first[1], second[0], math.inf) for first, second in pairs)


def _bounds(value: float) -> Bounds:
    return (-math.inf, math.inf) if math.isnan(value) else (value, value)


def _minus(first: float, second: float, unknown: float) -> float:
    """Return the difference. Two diverged runs tie in rank, but nobody knows how far they are apart."""
    difference = first - second
    return unknown if math.isnan(difference) else difference


def _p_larger(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the probability, were all values of one population, of a rank sum of `first` at least this large.

    Every choice of ranks is counted: scipy.stats.mannwhitneyu is exact only where no two values are equal. What differs
    in its last bits alone is equal; a bound is added to values and not subtracted, which would leave little else.
    """
    from scipy.stats import rankdata

    ranks = rankdata([without_last_bits(value) for value in (*first, *second)])
    if max(len(first), len(second)) > EXACT:
        return _normal_tail(ranks, len(first))
    doubled = [round(2 * rank) for rank in ranks]  # ties share their mean rank: twice it is whole
    return float(_null(doubled, len(first))[sum(doubled[: len(first)]) :].sum())


def _normal_tail(ranks: Floats, size: int) -> float:
    """Return nearly the same for the sum of the first `size` ranks, from the mean and the variance of all choices."""
    from scipy.stats import norm

    variance = size * (len(ranks) - size) / len(ranks) * float(ranks.var(ddof=1))
    if variance == 0:
        return 1.0
    above = float(ranks[:size].sum()) - size * float(ranks.mean())
    return float(norm.sf((above - 0.5) / math.sqrt(variance)))


def _null(ranks: Sequence[int], size: int) -> Floats:
    """Return the probability of every sum of `size` of the ranks, all choices being equally likely."""
    counts = np.zeros((size + 1, sum(ranks) + 1))
    counts[0, 0] = 1
    for end, rank in zip(accumulate(ranks, initial=1), ranks, strict=False):  # no sum of those before is as large
        counts[1:, rank : end + rank] += counts[:-1, :end].copy()
    return np.asarray(counts[size] / counts[size].sum())


@cache
def _depth(first: int, second: int, tail: float) -> int:
    """Return how many pairwise differences to leave out at each end, plus one; 0 where none may be."""
    if max(first, second) > EXACT:
        return _normal_depth(first, second, tail)
    null = _null([2 * rank for rank in range(1, first + second + 1)], first)[first * (first + 1) :: 2]
    return int((np.cumsum(null) <= tail).sum())


def _normal_depth(first: int, second: int, tail: float) -> int:
    from scipy.stats import norm

    middle_count, spread = first * second / 2, math.sqrt(first * second * (first + second + 1) / 12)
    return max(0, math.floor(middle_count - float(norm.isf(tail)) * spread + 0.5))
