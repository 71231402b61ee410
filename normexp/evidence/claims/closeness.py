"""Values in a region, and equality to a number or to another arm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from normexp.evidence.claims.claim import Equals, Value, at_point
from normexp.evidence.claims.finding import CONTRADICTED, HOLDS, UNDECIDED, Finding, all_of, compared
from normexp.evidence.claims.reading import runs_by_point, shared_points, values
from normexp.evidence.curves import Curves
from normexp.evidence.stats import one_sample, paired_differences


def value(claim: Value, curves: Curves) -> Finding:
    """Is the arm shown to lie in the region, at every point?"""
    wanted = claim.region.centre or claim.region.text
    findings = []
    for point, runs in runs_by_point(curves, claim.of).items():
        sample = [value for _, value in sorted(values(claim, runs).items())]
        what = f"{claim.metric} ({claim.at}) of {claim.of}{at_point(point)}, to be {wanted}"
        findings.append(compared(what, one_sample(sample), claim.region.interval, len(sample)))
    return all_of(findings)


def equals(claim: Equals, curves: Curves) -> Finding:
    """Is every run equal to the value, or to the other arm's run of its seed, to the tolerance? One run suffices."""
    deviations = list(_deviations(claim, curves))
    other = claim.than or claim.value
    what = f"{claim.metric} ({claim.at}) of {claim.of} against {other}, tolerance {claim.tolerance:.4g}"
    if not deviations:
        return Finding(what, 0, note="no seed in common")
    if all(each <= claim.tolerance for each in deviations):
        settled = HOLDS
    else:  # NaN, between two runs that diverged, is neither
        settled = CONTRADICTED if any(each > claim.tolerance for each in deviations) else UNDECIDED
    largest = float(np.max(deviations))  # NaN if there is one
    return Finding(f"{what}: largest deviation {largest:.3g}", len(deviations), estimate=largest, settled=settled)


def _deviations(claim: Equals, curves: Curves) -> Iterator[float]:
    if claim.than:
        for _, (ours, theirs) in shared_points(curves, claim.of, claim.than):
            yield from map(abs, paired_differences(values(claim, ours), values(claim, theirs)).values())
    else:
        for runs in runs_by_point(curves, claim.of).values():
            yield from (abs(value - float(claim.value or 0)) for value in values(claim, runs).values())
