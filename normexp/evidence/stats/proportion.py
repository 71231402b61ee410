"""How often something happens: k of n runs."""

from __future__ import annotations

from normexp.evidence.stats.interval import Interval
from normexp.evidence.stats.level import CONFIDENCE


def proportion_interval(count: int, n: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the exact interval (Clopper and Pearson) of a probability; None for fewer than two runs."""
    from scipy.stats import binomtest

    if n < 2:
        return None
    low, high = binomtest(count, n).proportion_ci(confidence, method="exact")
    return Interval(float(low), float(high))
