"""Mean, standard deviation and median over the seeds of one arm, in the unit of the values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; NaN of nothing. Non-finite values count, so they show."""
    if not len(values):
        return math.nan
    unit = unit_of_squares(values)  # of which the sum of many does not overflow either
    return unit * float(np.mean(np.array(values) / unit))


def standard_deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (divisor n - 1, Bessel's correction).

    NaN for fewer than two values: one seed says nothing about the spread; 0 would claim there is none.
    """
    if len(values) < 2:
        return math.nan
    if len(set(values)) == 1 and math.isfinite(values[0]):
        return 0.0  # exactly: the mean of three times 0.1 is rounded, and the deviation from it would be shown
    unit = unit_of_squares(values)
    return unit * float(np.std(np.array(values) / unit, ddof=1))


def unit_of_squares(values: Iterable[float]) -> float:
    """Return what to divide values by before they are squared: 1 unless the squares would overflow, or underflow.

    It is a power of two, so that dividing by it and multiplying with it again moves no digit.
    """
    largest = max(map(abs, values))
    extreme = 0 < largest < 1e-140 or 1e153 < largest < math.inf
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if extreme else 1.0


def median(values: Iterable[float], larger_is_better: bool = False) -> float:
    """Return the median with every non-finite value as the worst: inf, or -inf where larger is better; NaN of nothing.

    Unlike the mean over the finite runs, it does not look better for an arm that diverges more often.
    """
    worst = -math.inf if larger_is_better else math.inf
    return middle(value if math.isfinite(value) else worst for value in values)


def middle(values: Iterable[float]) -> float:
    """Return the middle of the sorted values, infinite ones included; NaN of nothing and between -inf and inf."""
    ordered = sorted(map(float, values))
    if not ordered:
        return math.nan
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else (low + high) / 2
