"""higher, lower, highest, lowest: an arm beside others, paired by seed."""

from __future__ import annotations

import math

from normexp.evidence.claims.claim import Claim, Place, at_point
from normexp.evidence.claims.finding import Finding, all_of, compared
from normexp.evidence.claims.reading import shared_points, values
from normexp.evidence.curves import Curves
from normexp.evidence.stats import Interval, paired, paired_differences


def ordered(claim: Claim, curves: Curves) -> Finding:
    """Is the arm higher (lower) than the other, or than every rival, by at least the margin, at every point?"""
    region = beyond(claim.margin, up=claim.predicate in ("higher", "highest"))
    rivals = claim.arms or ((claim.than,) if claim.than else ())
    return all_of([finding for rival in rivals for finding in differences(claim, curves, rival, region)])


def beyond(margin: float, up: bool) -> Interval:
    return Interval(margin, math.inf) if up else Interval(-math.inf, -margin)


def differences(claim: Claim, curves: Curves, rival: Place, region: Interval) -> list[Finding]:
    """Test at every point whether the arm minus the rival lies in the region."""
    findings = []
    for point, (ours, theirs) in shared_points(curves, claim.of, rival):
        first, second = values(claim, ours), values(claim, theirs)
        what = f"{claim.metric} ({claim.at}) of {claim.of} minus {rival}{at_point(point)}"
        findings.append(compared(what, paired(first, second), region, len(paired_differences(first, second))))
    return findings
