"""Student's t: the mean of a sample of finite values with some spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.evidence.stats.interval import EVERYTHING, Interval
from normexp.evidence.stats.summary import mean, standard_deviation


@dataclass(frozen=True)
class Student:
    """A mean with its standard error (sd / sqrt(n)), both in the unit of the sample, from n >= 2 values.

    Source: Student 1908, "The probable error of a mean"; any textbook.
    """

    value: float
    error: float
    n: int
    method: str = "t"

    @staticmethod
    def of(values: Sequence[float]) -> Student:
        return Student(mean(values), standard_deviation(values) / math.sqrt(len(values)), len(values))

    @property
    def sd(self) -> float:
        """The standard deviation of the sample."""
        return self.error * math.sqrt(self.n)

    def interval(self, confidence: float = 0.95) -> Interval:
        from scipy.special import stdtrit

        half = float(stdtrit(self.n - 1, (1 + confidence) / 2)) * self.error
        return Interval(self.value - half, self.value + half)

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value against "the mean is at most `bound`"."""
        from scipy.special import stdtr

        return float(stdtr(self.n - 1, (bound - self.value) / self.error))

    def p_below(self, bound: float) -> float:
        """Return the one-sided p-value against "the mean is at least `bound`"."""
        from scipy.special import stdtr

        return float(stdtr(self.n - 1, (self.value - bound) / self.error))


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return the t interval of the mean; None for fewer than two values, everything where one is not finite.

    Equal values give an interval of no width; `one_sample` does not trust it.
    """
    if len(values) < 2:
        return None
    if not all(map(math.isfinite, values)):
        return EVERYTHING
    return Student.of(values).interval(confidence)
