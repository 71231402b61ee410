"""Schedules: (step, total steps) -> what the optimizer uses there. Pure functions, so nothing to resume."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Setting(NamedTuple):
    """What a schedule sets for one step.

    Args:
        factor: of the base learning rate.
        beta1: of Adam; None leaves the optimizer's own.
    """

    factor: float
    beta1: float | None = None


def constant(step: int, total: int) -> Setting:
    """1 throughout."""
    return Setting(1.0)


def linear_tail(step: int, total: int, start: float = 0.5, beta1: float | None = None) -> Setting:
    """1 until the fraction `start` of the run, then linearly towards 0 (reached one step after the last).

    Args:
        beta1: of Adam while the rate falls.

    Source: Salimans & Kingma 2016, section 5.1 (constant for 100 epochs, then linear over 100); their released code
    sets beta1 to 0.5 for the latter. Differs: their rate falls once an epoch.
    """
    falling = step >= start * total
    return Setting(min(1.0, (1 - step / total) / (1 - start)), beta1 if falling else None)


def step(step: int, total: int, at: Sequence[float] = (0.5, 0.75), factor: float = 0.1) -> Setting:
    """factor ** (how many of the fractions `at` of the run lie behind)."""
    return Setting(factor ** sum(step >= fraction * total for fraction in at))


def exponential(step: int, total: int, halvings: float = 1.0, times: float = 1.0) -> Setting:
    """Begin at `times` and halve `halvings` times over the run, each step by the same factor."""
    return Setting(times * 0.5 ** (halvings * step / total))


def cosine(step: int, total: int, warmup: float = 0.0) -> Setting:
    """Linear from 0 to 1 over the fraction `warmup`, then (1 + cos) / 2 down to 0.

    Source: Loshchilov & Hutter 2017, arXiv:1608.03983, equation 5, without restarts.
    """
    rising = warmup * total
    if step < rising:
        return Setting((step + 1) / (rising + 1))
    return Setting((1 + math.cos(math.pi * (step - rising) / (total - rising))) / 2)
