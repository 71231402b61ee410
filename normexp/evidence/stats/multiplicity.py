"""Many claims tested at once: Holm's correction within an experiment, the false discovery rate over a ledger."""

from __future__ import annotations

import math
from collections.abc import Sequence

from normexp.evidence.stats.level import LEVEL


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given.

    A NaN stays NaN but counts in the family, as if it were 1: a test without a result never helps the others.
    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    order = _order(p_values)
    adjusted, largest = [math.nan] * len(order), 0.0
    for rank, i in enumerate(order):
        if not math.isnan(p_values[i]):
            largest = adjusted[i] = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
    return adjusted


def holm_confidence(p_values: Sequence[float]) -> list[float]:
    """Return the confidence of the interval that shows what Holm's correction decides, in the order given.

    The k-th smallest of m p-values is compared with LEVEL / (m - k + 1): an interval of that confidence excludes the
    bound exactly where the comparison succeeds. Once one has failed nothing is decided any more: what would succeed
    after it has the level at which the procedure stopped.
    """
    order = _order(p_values)
    levels = [LEVEL / (len(order) - rank) for rank in range(len(order))]
    below = [p_values[i] < level for i, level in zip(order, levels, strict=True)]
    stop = below.index(False) if False in below else len(order)
    confidence = [math.nan] * len(order)
    for rank, i in enumerate(order):
        confidence[i] = 1 - levels[stop if below[rank] and rank > stop else rank]
    return confidence


def false_discovery_rate(p_values: Sequence[float]) -> list[float]:
    """Return the q-values of Benjamini and Hochberg 1995, in the order given; NaN stays NaN and counts as 1."""
    from scipy.stats import false_discovery_control

    if not p_values:
        return []
    adjusted = false_discovery_control([1.0 if math.isnan(p) else p for p in p_values], method="bh")
    return [math.nan if math.isnan(p) else float(q) for p, q in zip(p_values, adjusted, strict=True)]


def _order(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=lambda i: 1.0 if math.isnan(p_values[i]) else p_values[i])
