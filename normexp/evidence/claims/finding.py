"""What the runs say about a claim, before the correction over all claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from normexp.evidence.stats import EquivalenceTest, Interval, PointEstimate, TTest, required_sample_size

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"


@dataclass(frozen=True)
class Finding:
    """One comparison, or the one of several that decides.

    Args:
        what: what was compared or counted.
        n: number of seeds.
        decision: p-values of a statistical claim; None where nothing was tested.
        settled: the verdict of a claim that is no statistical one (counts, exact equality).
        note: why there is neither.
        spread: standard deviation between seeds and distance to the nearest end of the region, for planning.
    """

    what: str
    n: int
    estimate: float | None = None
    interval: Interval | None = None
    decision: EquivalenceTest | None = None
    settled: str = UNDECIDED
    note: str = ""
    spread: tuple[float, float] | None = None

    def more_seeds(self, confidence: float) -> int | None:
        """Return how many more seeds would probably decide; None where that cannot be told."""
        wanted = required_sample_size(*self.spread, confidence) if self.spread else None
        return None if wanted is None else max(1, wanted - self.n)


def compared(
    what: str, estimate: PointEstimate | None, region: Interval, n: int, shown: Callable[[float], float] = float
) -> Finding:
    """Test whether the estimate lies in the region.

    Args:
        n: number of seeds, also where they are too few for an estimate.
        shown: from the scale of the test to the one to be printed (exp, for ratios).
    """
    if estimate is None:
        return Finding(what, n, note="fewer than two seeds to pair decide nothing")
    interval = estimate.confidence_interval()
    return Finding(
        f"{what} ({estimate.method})",
        n,
        estimate=shown(estimate.value),
        interval=Interval(shown(interval.low), shown(interval.high)),
        decision=EquivalenceTest.of(estimate, region),
        spread=_spread(estimate, region),
    )


def all_of(findings: Sequence[Finding]) -> Finding:
    """Return the finding on "all of these hold", shown by the one that is furthest from holding.

    It holds where the weakest does (intersection-union: no correction needed); it is contradicted where any one
    is, at a p-value corrected for having looked at all of them (Bonferroni).
    """
    for finding in findings:
        if finding.note:
            return finding
    if any(finding.decision is None for finding in findings):
        return _worst_settled(findings)
    decisions = [finding.decision for finding in findings if finding.decision]
    inside = max(decision.inside for decision in decisions)
    outside = min(1.0, len(findings) * min(decision.outside for decision in decisions))
    against = inside >= outside
    shown = findings[_extreme([d.outside if against else -d.inside for d in decisions])]
    return replace(shown, decision=EquivalenceTest(inside, outside), what=shown.what + _among(findings))


def _worst_settled(findings: Sequence[Finding]) -> Finding:
    """A counterexample beats a doubt beats a confirmation."""
    shown = min(findings, key=lambda finding: (CONTRADICTED, UNDECIDED, HOLDS).index(finding.settled))
    return replace(shown, what=shown.what + _among(findings))


def _extreme(keys: Sequence[float]) -> int:
    return min(range(len(keys)), key=lambda i: keys[i])


def _among(findings: Sequence[Finding]) -> str:
    return f", weakest of {len(findings)} comparisons" if len(findings) > 1 else ""


def _spread(estimate: PointEstimate, region: Interval) -> tuple[float, float] | None:
    if not isinstance(estimate, TTest):
        return None
    ends = [end for end in (region.low, region.high) if math.isfinite(end)]
    return estimate.sd, min(abs(estimate.value - end) for end in ends)
