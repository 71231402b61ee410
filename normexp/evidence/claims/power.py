"""Can a family of claims be decided at all with so many seeds? Asked before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count

from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import StepsToTarget
from normexp.evidence.stats import LEVEL, Design


def least_p(of: Callable[[int], float], design: Design | None, n: int) -> float:
    """Return the least p with n seeds, under a design with its looks in proportion: their shares are the same.

    Args:
        of: the least p of n seeds that are looked at once.
    """
    if design is None:
        return of(n)
    return least_over_looks(of, design, [look * n // design.looks[-1] for look in design.looks])


def seeds_that_agree(n: int, p: float | None, family: int, design: Design | None) -> int | None:
    """Return how many seeds that all agree decide a claim by the sign test; None unless its runs do, and are too few.

    It is what equal values leave: they have no spread.

    Args:
        n: runs so far.
        p: what they give the claim, not adjusted.
        family: how many claims are tested beside it, this one among them.
    """
    if not n or p != _least_so_far(n, design):
        return None
    return next(size for size in count(n) if family * least_p(smallest_sign_p, design, size) < LEVEL)


def _least_so_far(n: int, design: Design | None) -> float:
    """Return the least p by signs of n seeds, at the looks that they make."""
    if design is None:
        return smallest_sign_p(n)
    return least_over_looks(smallest_sign_p, design, [look for look in design.looks if look <= n])


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
