"""The sign test: the median of a sample that may hold infinite or unknown values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from normexp.evidence.stats.interval import Interval
from normexp.evidence.stats.last_bits import without_last_bits
from normexp.evidence.stats.level import CONFIDENCE
from normexp.evidence.stats.summary import middle


@dataclass(frozen=True)
class SignTest:
    """A median. NaN is an unknown value: it counts against whatever is asked.

    At 95 % it takes six values before the interval is less than everything (2 * 0.5**6 < 0.05). Intervals are those of
    scipy.stats.quantile_test, p-values of scipy.stats.binomtest.
    """

    values: tuple[float, ...]
    method: str = "sign"
    sd: None = None

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def value(self) -> float:
        """The median; NaN where it depends on an unknown value."""
        low, high = middle(self._with_unknown(-math.inf)), middle(self._with_unknown(math.inf))
        return low if low == high else math.nan

    def confidence_interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the interval between two order statistics that covers the median at least so often."""
        low, high = self._ends(-math.inf, confidence)[0], self._ends(math.inf, confidence)[1]
        return Interval(-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high)

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value against "the median is at most `bound`"."""
        return self._p(sum(value > without_last_bits(bound) for value in self._rounded))

    def p_below(self, bound: float) -> float:
        """Return the one-sided p-value against "the median is at least `bound`"."""
        return self._p(sum(value < without_last_bits(bound) for value in self._rounded))

    @property
    def _rounded(self) -> list[float]:
        return [without_last_bits(value) for value in self.values]

    def _p(self, successes: int) -> float:
        from scipy.stats import binomtest

        return float(binomtest(successes, self.n, alternative="greater").pvalue)

    def _ends(self, unknown: float, confidence: float) -> tuple[float, float]:
        """Return the ends with a value for what is not known; NaN where the sample is too small for one."""
        from scipy.stats import quantile_test

        low, high = quantile_test(self._with_unknown(unknown), p=0.5).confidence_interval(confidence)
        return float(low), float(high)

    def _with_unknown(self, unknown: float) -> list[float]:
        return [unknown if math.isnan(value) else value for value in self.values]
