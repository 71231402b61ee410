"""Claims under a sequential design: one result per look, and what all of them say together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import Count, Equals
from normexp.evidence.claims.result import NOT_YET, UNDECIDED, TestResult, all_of
from normexp.evidence.claims.verdict import Verdict
from normexp.evidence.curves import Cell, Curves
from normexp.evidence.stats.sequential import Design, over_looks, repeated_interval


def looks_taken(curves: Curves, design: Design, cells: Collection[Cell] = ()) -> list[Curves]:
    """Return the curves at every look that is complete: each cell has finished runs of all its seeds.

    Args:
        cells: that there are to be; by default those that there are.
    """
    taken: list[Curves] = []
    there = [curves.get(cell, {}) for cell in cells or curves]
    for look in range(len(design.looks)):
        seeds = design.at(look)
        if not all(seed in runs and runs[seed].finished for runs in there for seed in seeds):
            break
        taken.append({cell: {seed: runs[seed] for seed in seeds} for cell, runs in curves.items()})
    return taken


def at_looks(test: Callable[[Curves, float], TestResult], looks: Sequence[Curves], design: Design) -> TestResult:
    """Return what a claim's test says of the looks that were taken, together.

    Each of several comparisons is put together over its looks first, then all of them: which is the least favourable
    may change from look to look, and an interval is of one comparison.

    Args:
        test: of the runs of a look, and of its share of the level.
    """
    if not looks:
        return TestResult("sequential", 0, note=f"the first look, at {design.looks[0]} seeds, is not complete")
    results = [test(look, share) for look, share in zip(looks, design.shares, strict=False)]
    if results[-1].decision is None:
        return results[-1]
    tested = [(result, share) for result, share in zip(results, design.shares, strict=False) if result.decision]
    shares = [share for _, share in tested]  # a look that could not be tested has spent its share
    by_comparison = zip(*(result.comparisons for result, _ in tested), strict=True)
    result = all_of([_together(comparison, shares) for comparison in by_comparison])
    remark = f"{design.progress(len(results))}; p and intervals allow for all looks"
    return replace(result, remarks=(*result.remarks, remark))


def _together(looks: Sequence[TestResult], shares: Sequence[float]) -> TestResult:
    """Return what the looks at one comparison say together."""
    decisions = [look.decision for look in looks if look.decision]
    return replace(
        looks[-1],
        decision=over_looks(decisions, shares),
        interval=lambda confidence: repeated_interval([each.interval for each in looks], shares, confidence),
    )


def still_open(claims: Sequence[tuple[Claim, Verdict]]) -> list[str]:
    """Return the claims that more seeds may decide; of what is counted run by run they cannot."""
    return [
        claim.text
        for claim, verdict in claims
        if verdict.verdict in (UNDECIDED, NOT_YET) and not isinstance(claim, Count | Equals)
    ]
