"""Can a family of claims be decided at all with so many seeds? Asked before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import StepsToTarget
from normexp.evidence.stats import Design


def least_p(of: Callable[[int], float], design: Design | None, n: int) -> float:
    """Return the least p with n seeds, under a design with its looks in proportion: their shares are the same.

    Args:
        of: the least p of n seeds that are looked at once.
    """
    if design is None:
        return of(n)
    return least_over_looks(of, design, [look * n // design.looks[-1] for look in design.looks])


def least_over_looks(least: Callable[[int], float], design: Design, looks: Sequence[int]) -> float:
    """Return the least p that allows for all looks, of a test that has none below `least(n)` with n seeds.

    Args:
        looks: how many seeds there are at each, from the design's first look on.
    """
    each = zip(looks, design.shares, strict=False)
    return min([1.0, *(least(n) / share for n, share in each)])


def smallest_adjusted_p(family: Sequence[Claim], n: int) -> float:
    """Return the least p, Holm-adjusted, at which this family could decide a claim that is judged by ranks.

    A claim about steps to a target is judged by ranks as soon as one run never gets there, and with n runs of each arm
    the exact rank-sum test has no two-sided p below 2 / (2n choose n). Holm multiplies the first claim to be decided by
    the size of the family. 0 where no claim of the family is about steps: the t test has no least p. Above 0.05 nothing
    that is judged by ranks could be decided first, whatever the runs say.

    Args:
        family: claims that are tested (`is_tested`).
        n: runs per arm, at least 2 for any decision.
    """
    if n < 2:
        return 1.0
    by_rank = any(isinstance(claim, StepsToTarget) for claim in family)
    return min(1.0, len(family) * smallest_rank_p(n)) if by_rank else 0.0


def smallest_sign_p(n: int) -> float:
    """Return the least two-sided p of the sign test of n values, all of them on one side."""
    return min(1.0, 2 * 0.5**n)


def smallest_rank_p(n: int) -> float:
    """Return the least two-sided p of the exact rank-sum test of n runs against n."""
    return 2 / math.comb(2 * n, n)
