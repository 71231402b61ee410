"""Differences: an arm beside others, paired by seed."""

from __future__ import annotations

from normexp.evidence.claims.claim import Difference, Measured, Place, at_point
from normexp.evidence.claims.finding import Finding, all_of, compared
from normexp.evidence.claims.reading import shared_points, values
from normexp.evidence.curves import Curves
from normexp.evidence.stats import Interval, paired, paired_differences


def difference(claim: Difference, curves: Curves) -> Finding:
    """Does the arm minus the other, or minus every rival, lie in the region, at every point?"""
    region = claim.region.interval
    return all_of([finding for rival in claim.rivals for finding in differences(claim, curves, rival, region)])


def differences(claim: Measured, curves: Curves, rival: Place, region: Interval) -> list[Finding]:
    """Test at every point whether the arm minus the rival lies in the region."""
    findings = []
    for point, (ours, theirs) in shared_points(curves, claim.of, rival):
        first, second = values(claim, ours), values(claim, theirs)
        what = f"{claim.metric} ({claim.at}) of {claim.of} minus {rival}{at_point(point)}"
        findings.append(compared(what, paired(first, second), region, len(paired_differences(first, second))))
    return findings
