"""How many seeds would decide."""

from __future__ import annotations

import math
from dataclasses import dataclass

from normexp.evidence.stats.level import CONFIDENCE

MANY = 1000  # more seeds than anyone will run
SAFEGUARD = 0.8
POWER = 0.8  # the probability to decide


@dataclass(frozen=True)
class SampleSize:
    """How many fresh seeds would probably decide; None for more than a thousand.

    Args:
        observed: were the true value where the pilot found it, which is optimistic: what is followed up looks larger
            than it is.
        safeguard: were it at the end of the pilot's one-sided 80 % interval that is nearer to the bound (Perugini,
            Gallucci & Costantini 2014, "Safeguard power as a protection against imprecise power estimates").
    """

    observed: int | None
    safeguard: int | None


def plan(sd: float, distance: float, n: int, confidence: float = CONFIDENCE, other: float = math.inf) -> SampleSize:
    """Return the sample sizes by a pilot of n seeds, whose seeds are not to be used again."""
    from scipy.special import stdtrit

    less = float(stdtrit(n - 1, SAFEGUARD)) * sd / math.sqrt(n)
    nearer = distance - less
    safeguard = required_sample_size(sd, nearer, confidence, other=other + less) if nearer > 0 else None
    return SampleSize(required_sample_size(sd, distance, confidence, other=other), safeguard)


def required_sample_size(
    sd: float, distance: float, confidence: float = CONFIDENCE, other: float = math.inf
) -> int | None:
    """Return the least number of seeds at which a t-test decides in 80 % of cases; None for more than a thousand.

    Args:
        sd: standard deviation between seeds (of the paired differences, or of the values).
        distance: from the true value to the end of the region that it has to stay clear of, in the same unit.
        other: from the true value to the other end of a region that it has to be shown to lie in; inf where there is
            none. In the middle of a margin either end may be what is not cleared.
    Raises: ValueError where sd or distance is negative or NaN.
    Source: Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", chapter 2 (noncentral t).
    """
    if not (sd >= 0 and distance >= 0):
        raise ValueError(f"sd={sd} and distance={distance} must not be negative")

    def enough_with(n: int) -> bool:
        missed = sum(1 - _power(n, sd, each, confidence) for each in (distance, other))  # at most: both at once, twice
        return 1 - missed >= POWER

    if distance == 0 or not enough_with(MANY):
        return None
    few, enough = 1, MANY
    while enough - few > 1:  # bisection: more seeds never have less power
        middle = (few + enough) // 2
        few, enough = (few, middle) if enough_with(middle) else (middle, enough)
    return enough


def _power(n: int, sd: float, distance: float, confidence: float) -> float:
    """Return the probability that the interval of n seeds stays clear of a bound so far away."""
    from scipy.special import nctdtr, stdtrit

    shift = math.sqrt(n) * distance / sd if sd > 0 else math.inf
    if shift > 30:  # certain; the series of the noncentral t gives up out there
        return 1.0
    return 1.0 - float(nctdtr(n - 1, shift, stdtrit(n - 1, (1 + confidence) / 2)))
