"""A sequential design: seeds are added in batches, and everything is tested again after each of at most five looks.

The level is spent look by look (Lan & DeMets 1983, "Discrete sequential boundaries for clinical trials"): a spending
function gives every look its share, and the shares add up to 1. At a look with p-value p a claim is decided at level a
where p <= share * a. By Boole's inequality a true null hypothesis is rejected at some look with a probability of at
most a, whatever test each look uses and however the looks depend on each other: t, ranks and signs may take turns.

So min(p / share) over the looks is a p-value, and intervals of confidence 1 - share * a cover at all looks together
(Jennison & Turnbull 1989, "Interim analyses: the repeated confidence interval approach"). Lan and DeMets' boundaries
decide sooner, since they use how the looks at a normal sample of known variance depend on each other. With the few
seeds that are usual here t tests at those boundaries are wrong too often, which `normexp bench looks` measures.

Holm's correction works on these p-values as on others. They only fall from look to look, and so do the corrected ones:
what is decided at a look would be decided at the last one, too, had all seeds been run. There Holm's procedure has
valid p-values and keeps the level of the family; whoever stops before, for whatever reason, decides no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

from normexp.evidence.stats.equivalence import EquivalenceTest
from normexp.evidence.stats.interval import Interval
from normexp.evidence.stats.level import LEVEL, confidence_of

MOST_LOOKS = 5
Spending = Literal["pocock", "obrien_fleming"]


@dataclass(frozen=True)
class Design:
    """What is declared before the first run.

    Args:
        seeds: in the order in which they are run.
        looks: how many of them have run at each look; the last is all of them.
        spending: the function that spends the level, see `spent`.
    """

    seeds: tuple[int, ...]
    looks: tuple[int, ...]
    spending: Spending = "pocock"

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the level that each look spends."""
        done = [0.0, *(spent(self.spending, look / self.looks[-1]) for look in self.looks)]
        return tuple(after - before for before, after in pairwise(done))

    def confidence(self, taken: int) -> float:
        """Return the confidence of an interval at the last look taken that is one of 95 % at all looks together."""
        return confidence_of(self.shares[max(taken, 1) - 1])

    def progress(self, taken: int) -> str:
        """Return how many looks were taken, and of how many seeds."""
        seeds = self.looks[taken - 1] if taken else 0
        return f"look {taken} of at most {len(self.looks)}, {seeds} of at most {self.looks[-1]} seeds"

    def at(self, look: int) -> tuple[int, ...]:
        """Return the seeds of a look, counted from 0."""
        return self.seeds[: self.looks[look]]


def spent(spending: Spending, fraction: float) -> float:
    """Return the share of the level that is spent when this fraction of the seeds has run.

    pocock           log(1 + (e - 1) t): about the same at every look, for effects that few seeds may show
    obrien_fleming   2 (1 - Phi(z / sqrt(t))), of 0.025 on either side: next to nothing early, most of it at the end

    Source: Lan & DeMets 1983, of which these are the shares at a two-sided level of 0.05.
    """
    if spending == "pocock":
        return math.log(1 + (math.e - 1) * fraction)
    normal = NormalDist()
    return 2 * normal.cdf(normal.inv_cdf(LEVEL / 4) / math.sqrt(fraction)) / (LEVEL / 2)


def over_looks(tests: Sequence[EquivalenceTest], shares: Sequence[float]) -> EquivalenceTest:
    """Return the p-values that are valid however many looks were taken, one per side."""
    return EquivalenceTest(
        _least([test.inside for test in tests], shares), _least([test.outside for test in tests], shares)
    )


def repeated_interval(
    intervals: Sequence[Callable[[float], Interval | None]], shares: Sequence[float], confidence: float
) -> Interval | None:
    """Return the interval that holds at all looks together: what is in the interval of every look so far.

    It excludes a bound exactly where `over_looks` decides. Where nothing is in all of them, which is as rare as missing
    the true value, that of the last look stands.
    """
    found = [interval(1 - share * (1 - confidence)) for interval, share in zip(intervals, shares, strict=False)]
    known = [each for each in found if each is not None]
    if not known:
        return None
    low, high = max(each.low for each in known), min(each.high for each in known)
    return Interval(low, high) if low <= high else known[-1]


def _least(p_values: Sequence[float], shares: Sequence[float]) -> float:
    """Return the least p over its share, at most 1; a look without a result (NaN) decides nothing."""
    return min([1.0, *(p / share for p, share in zip(p_values, shares, strict=False) if not math.isnan(p))])
