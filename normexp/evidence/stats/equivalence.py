"""Does an estimate lie in a region? The one test behind equivalence, superiority and their contradictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from normexp.evidence.stats.estimates import PointEstimate
from normexp.evidence.stats.interval import Interval


@dataclass(frozen=True)
class EquivalenceTest:
    """Two p-values: `inside` against "it lies outside the region", `outside` against "it lies inside".

    Both are doubled one-sided values, so that at a p below 0.05 the 95 % interval lies on that side, and the two
    chances to decide together keep the level.
    """

    inside: float
    outside: float

    @staticmethod
    def of(estimate: PointEstimate, region: Interval) -> EquivalenceTest:
        """Test whether the estimate lies in the region.

        With two finite ends, `inside` is the two one-sided tests of equivalence (Schuirmann 1987), at half the usual
        level; with one infinite end, `p` is the usual two-sided p-value against the finite one.
        """
        below_low = estimate.p_below(region.low) if region.low > -math.inf else 1.0
        above_high = estimate.p_above(region.high) if region.high < math.inf else 1.0
        above_low = estimate.p_above(region.low) if region.low > -math.inf else 0.0
        below_high = estimate.p_below(region.high) if region.high < math.inf else 0.0
        return EquivalenceTest(_double(max(above_low, below_high)), _double(min(below_low, above_high)))

    @property
    def p(self) -> float:
        """The p-value of the side that the data favour."""
        return min(self.inside, self.outside)


def _double(p: float) -> float:
    return min(1.0, 2 * p)
