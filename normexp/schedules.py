"""Learning-rate curves: (step, total steps) -> factor of the base rate. Pure functions, so nothing to resume."""

from __future__ import annotations

import math
from collections.abc import Sequence


def constant(step: int, total: int) -> float:
    """1 throughout."""
    return 1.0


def linear_tail(step: int, total: int, start: float = 0.5) -> float:
    """1 until the fraction `start` of the run, then linearly towards 0 (reached one step after the last).

    Source: Salimans & Kingma 2016, section 5.1 (constant for 100 epochs, then linear over 100).
    """
    return min(1.0, (1 - step / total) / (1 - start))


def step(step: int, total: int, at: Sequence[float] = (0.5, 0.75), factor: float = 0.1) -> float:
    """factor ** (how many of the fractions `at` of the run lie behind)."""
    return factor ** sum(step >= fraction * total for fraction in at)


def cosine(step: int, total: int, warmup: float = 0.0) -> float:
    """Linear from 0 to 1 over the fraction `warmup`, then (1 + cos) / 2 down to 0.

    Source: Loshchilov & Hutter 2017, arXiv:1608.03983, equation 5, without restarts.
    """
    rising = warmup * total
    if step < rising:
        return (step + 1) / (rising + 1)
    return (1 + math.cos(math.pi * (step - rising) / (total - rising))) / 2
