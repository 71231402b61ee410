"""The sign test: the median of a sample that may hold infinite or unknown values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from normexp.evidence.stats.interval import Interval
from normexp.evidence.stats.summary import middle


@dataclass(frozen=True)
class Sign:
    """A median. NaN is an unknown value: it counts against whatever is asked.

    At 95 % it takes six values before the interval is less than everything (2 * 0.5**6 < 0.05).
    Source: Hollander & Wolfe, "Nonparametric Statistical Methods", sections 3.4 to 3.6.
    """

    values: tuple[float, ...]
    method: str = "sign"

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def value(self) -> float:
        """The median; NaN where it depends on an unknown value."""
        low, high = middle(_known(self.values, -math.inf)), middle(_known(self.values, math.inf))
        return low if low == high else math.nan

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return the interval between two order statistics that covers the median at least so often."""
        from scipy.special import bdtr

        depth = sum(2 * float(bdtr(k, self.n, 0.5)) <= 1 - confidence for k in range(self.n // 2))
        low = sorted(_known(self.values, -math.inf))[depth - 1] if depth else -math.inf
        return Interval(low, sorted(_known(self.values, math.inf))[-depth] if depth else math.inf)

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value against "the median is at most `bound`"."""
        return self._p(sum(value > bound for value in self.values))

    def p_below(self, bound: float) -> float:
        """Return the one-sided p-value against "the median is at least `bound`"."""
        return self._p(sum(value < bound for value in self.values))

    def _p(self, successes: int) -> float:
        """Return the probability of at least so many heads in n tosses."""
        from scipy.special import bdtr

        return float(bdtr(self.n - successes, self.n, 0.5))


def _known(values: tuple[float, ...], unknown: float) -> list[float]:
    return [unknown if math.isnan(value) else value for value in values]
