"""Holm's correction for testing several claims at once."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given.

    A NaN stays NaN but counts in the family, as if it were 1: a test without a result never helps the others.
    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    family = len(p_values)
    order = sorted(range(family), key=lambda i: 1.0 if math.isnan(p_values[i]) else p_values[i])
    adjusted, largest = [math.nan] * family, 0.0
    for rank, i in enumerate(order):
        if not math.isnan(p_values[i]):
            largest = adjusted[i] = max(largest, min(1.0, (family - rank) * p_values[i]))
    return adjusted
