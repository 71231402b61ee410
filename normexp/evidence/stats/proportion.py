"""How often something happens: k of n runs."""

from __future__ import annotations

from normexp.evidence.stats.interval import Interval


def proportion_interval(count: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Return the exact interval of a probability from `count` of n runs; None for fewer than two runs.

    Source: Clopper & Pearson 1934, "The use of confidence or fiducial limits illustrated in the binomial".
    """
    from scipy.special import betaincinv

    if n < 2:
        return None
    tail = (1 - confidence) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return Interval(low, high)
