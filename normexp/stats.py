"""Statistics over the seeds of one arm. NumPy only; every value is a float in the unit of its input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; NaN of nothing. Non-finite values count, so they show."""
    return float(np.mean(values)) if len(values) else float("nan")


def standard_deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (divisor n - 1, Bessel's correction).

    NaN for fewer than two values: one seed says nothing about the spread; 0 would claim there is none.
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
