"""Schedules: (step, total steps) -> what the optimizer uses there. Pure functions, so nothing to resume."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from normexp.errors import UserError, first_line, kind_and_line, kind_of, line_in

BEHIND = "step behind the last"


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
    falling = _reached(step, total, start)
    return Setting(min(1.0, (1 - step / total) / (1 - start)), beta1 if falling else None)


def step(step: int, total: int, at: Sequence[float] = (0.5, 0.75), factor: float = 0.1) -> Setting:
    """factor ** (how many of the fractions `at` of the run lie behind)."""
    return Setting(factor ** sum(_reached(step, total, fraction) for fraction in at))


def _reached(step: int, total: int, fraction: float) -> bool:
    """Tell whether a fraction of the run lies behind; its product is rounded, as 0.55 * 100 is above 55 in floats."""
    return step >= round(fraction * total, 6)


def exponential(step: int, total: int, halvings: float = 1.0, times: float = 1.0) -> Setting:
    """Begin at `times` and halve `halvings` times over the run, each step by the same factor."""
    return Setting(times * 0.5 ** (halvings * step / total))


def cosine(step: int, total: int, warmup: float = 0.0, final: float = 0.0) -> Setting:
    """Linear from 0 to 1 over the fraction `warmup`, then half a cosine from 1 down to `final`.

    Source: Loshchilov & Hutter 2017, arXiv:1608.03983, without restarts.
    """
    rising = warmup * total
    if step < rising:
        return warmed_up(step, total, warmup)
    falling = (1 + math.cos(math.pi * (step - rising) / (total - rising))) / 2
    return Setting(final + (1 - final) * falling)


def warmed_up(step: int, total: int, warmup: float = 0.1) -> Setting:
    """Linear from 0 to 1 over the fraction `warmup`, then 1.

    Source: Goyal et al. 2017, arXiv:1706.02677, section 2.2. Differs: the first step has a share of the rate, not 0.
    """
    return Setting(min(1.0, (step + 1) / (warmup * total + 1)))


def as_setting(given: Any) -> Setting:
    """Return what a schedule returned as a Setting; a function of the user's own may return the factor alone."""
    try:
        return given if isinstance(given, Setting) else Setting(float(given))
    except TypeError:
        raise TypeError(f"it returns a {kind_of(given)}") from None


def check_schedule(schedule: partial[Any], name: str, steps: int) -> None:
    """Raise UserError for a function of the user's own that is not (step, total steps, ...) -> factor.

    Args:
        schedule: step -> what it returns, of the function.
        name: of the function.
        steps: their number; the first, the last and what is recorded behind it are asked for.
    """
    for which, step in (("first", 0), ("last", steps - 1), (BEHIND, steps)):
        if wrong := _wrong(schedule, step, which):
            raise UserError(
                f"{name}: is no schedule, a function (step, total, ...) that returns the factor of the learning rate "
                f"({wrong})"
            )


def _wrong(schedule: partial[Any], step: int, which: str) -> str:
    try:
        factor, again = (as_setting(schedule(step)).factor for _ in range(2))
    except (TypeError, ValueError) as error:
        return f"{first_line(error)}{line_in(error, schedule.func.__module__)}"
    except Exception as error:
        what = f", at step {step} of {step}, which the last row of the curves asks for" if which == BEHIND else ""
        return f"{kind_and_line(error)}{line_in(error, schedule.func.__module__)}{what}"
    if which == BEHIND:
        return ""
    if not 0 <= factor < math.inf:
        return f"{factor} for the {which} step"
    return "" if again == factor else f"{factor} and then {again} for the {which} step, which has one factor"
