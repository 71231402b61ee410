"""Ratios of what two arms reached, paired by seed: what the figures and the tables of an experiment show of it."""

from __future__ import annotations

import math
from collections.abc import Mapping


def ratios(values: Mapping[int, float], others: Mapping[int, float]) -> dict[int, float]:
    """Return seed -> value over the other's with the same seed, where there is one and it is not 0.

    NaN where the other run diverged: nothing is a small share of infinity.
    """
    shared = {seed: (value, others[seed]) for seed, value in values.items() if others.get(seed)}
    return {seed: ours / theirs if math.isfinite(theirs) else math.nan for seed, (ours, theirs) in shared.items()}
