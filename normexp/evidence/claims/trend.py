"""Trends: one arm along an axis of the grid, paired by seed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from normexp.evidence.claims.claim import Place, Trend
from normexp.evidence.claims.finding import Finding, all_of
from normexp.evidence.claims.ordering import differences
from normexp.evidence.claims.reading import NothingToJudge
from normexp.evidence.curves import AxisValue, Curves
from normexp.evidence.stats import EquivalenceTest, Interval

LEVEL = 0.05


def trend(claim: Trend, curves: Curves) -> Finding:
    """Does the arm grow, fall or stay along the axis, as the region says?"""
    return (monotone if claim.region.one_sided else flat)(claim, curves)


def flat(claim: Trend, curves: Curves) -> Finding:
    """Equivalence: is the difference of every pair of places along the axis shown to lie in the region?"""
    region = claim.region.interval
    pairs = itertools.combinations(_places(claim, curves), 2)
    return all_of([finding for low, high in pairs for finding in _between(claim, curves, low, high, region)])


def monotone(claim: Trend, curves: Curves) -> Finding:
    """Does the difference of the ends lie in the region, with no significant step back in between?

    Neighbours may tie: a paper that says "the error grows" does not promise it of every step.
    """
    forward = Interval(0.0, math.inf) if claim.region.upward else Interval(-math.inf, 0.0)
    places = _places(claim, curves)
    ends = all_of(_between(claim, curves, places[0], places[-1], claim.region.interval))
    steps = [
        finding for low, high in itertools.pairwise(places) for finding in _between(claim, curves, low, high, forward)
    ]
    back = all_of(steps)
    if back.decision and ends.decision and back.decision.outside < LEVEL and len(places) > 2:
        return replace(back, decision=EquivalenceTest(1.0, back.decision.outside))
    return ends


def _between(claim: Trend, curves: Curves, low: Place, high: Place, region: Interval) -> list[Finding]:
    """Test the difference of the arm at the higher place minus the lower one."""
    return differences(claim.model_copy(update={"of": high}), curves, low, region)


def _places(claim: Trend, curves: Curves) -> list[Place]:
    """Return the arm at every value of the axis: numbers by size (2 before 16), others in the order of the grid."""
    found: list[AxisValue] = []
    for cell in curves:
        point = dict(cell.point)
        if cell.arm == claim.of.arm and claim.axis in point and point[claim.axis] not in found:
            found.append(point[claim.axis])
    if len(found) < 2:
        raise NothingToJudge(f"{claim.of} has runs at {len(found)} values of {claim.axis}, two are needed")
    if all(isinstance(value, int | float) and not math.isnan(value) for value in found):
        found.sort(key=lambda value: float(value or 0))
    return [Place(claim.of.arm, (*claim.of.point, (claim.axis, value))) for value in found]
