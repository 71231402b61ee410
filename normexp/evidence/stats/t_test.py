"""Student's t: the mean of a sample of finite values with some spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normexp.evidence.stats.interval import EVERYTHING, Interval
from normexp.evidence.stats.level import CONFIDENCE
from normexp.evidence.stats.summary import mean, standard_deviation, unit_of_squares


@dataclass(frozen=True)
class TTest:
    """The mean of at least two values, in their unit; intervals and p-values are scipy.stats.ttest_1samp's."""

    values: tuple[float, ...]
    method: str = "t"

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def value(self) -> float:
        return mean(self.values)

    @property
    def sd(self) -> float:
        """The standard deviation of the sample."""
        return standard_deviation(self.values)

    def confidence_interval(self, confidence: float = CONFIDENCE) -> Interval:
        if self.sd == 0:
            return Interval(self.value, self.value)
        low, high = self._test().confidence_interval(confidence)
        unit = unit_of_squares(self.values)
        return Interval(unit * float(low), unit * float(high))

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value against "the mean is at most `bound`"."""
        return float(self._test(bound, "greater").pvalue)

    def p_below(self, bound: float) -> float:
        """Return the one-sided p-value against "the mean is at least `bound`"."""
        return float(self._test(bound, "less").pvalue)

    def _test(self, bound: float = 0.0, alternative: str = "two-sided") -> Any:
        from scipy.stats import ttest_1samp

        unit = unit_of_squares(self.values)
        return ttest_1samp([value / unit for value in self.values], bound / unit, alternative=alternative)


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Return the t interval of the mean; None for fewer than two values, everything where one is not finite.

    Equal values give an interval of no width; `one_sample` does not trust it.
    """
    if len(values) < 2:
        return None
    if not all(map(math.isfinite, values)):
        return EVERYTHING
    return TTest(tuple(values)).confidence_interval(confidence)
