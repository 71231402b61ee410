"""Values, differences, ratios, interactions and trends: a number per seed, tested against a region."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from normexp.evidence.claims.claim import Measured
from normexp.evidence.claims.estimands import Difference, Interaction, Ratio, Trend, Value
from normexp.evidence.claims.fields import Place, at_point
from normexp.evidence.claims.reading import shared_points, values, values_by_point
from normexp.evidence.claims.result import TestResult, all_of, compared
from normexp.evidence.curves import AxisValue, Curves
from normexp.evidence.reading import MissingRuns
from normexp.evidence.stats import Interval, one_sample, paired, paired_differences
from normexp.evidence.stats.speed_up import exponential, logarithm


def value(claim: Value, curves: Curves, unit: str = "") -> TestResult:
    """Is the arm shown to lie in the region, at every point? The unit is that of the metric."""
    wanted = claim.region.in_words(unit)
    results = []
    for point, sample in values_by_point(claim, curves).items():
        what = f"{claim.metric} ({claim.at}) of {claim.of}{at_point(point)}, to be {wanted}"
        estimate = one_sample([each for _, each in sorted(sample.items())])
        results.append(compared(what, estimate, claim.region.interval, len(sample)))
    return all_of(results)


def difference(claim: Difference, curves: Curves) -> TestResult:
    """Does the arm minus the other, or minus every rival, lie in the region, at every point?"""
    region = claim.region.interval
    return all_of([result for rival in claim.rivals for result in _differences(claim, curves, rival, region)])


def ratio(claim: Ratio, curves: Curves) -> TestResult:
    """Does the metric, over that of the other arm, lie in the region, at every point?"""
    results = []
    for point, runs in shared_points(curves, claim.of, claim.than):
        first, second = ({seed: _log(each) for seed, each in values(claim, each).items()} for each in runs)
        what = f"{claim.metric} ({claim.at}) of {claim.of} over {claim.than}{at_point(point)}"
        n = len(first.keys() & second.keys())
        results.append(compared(what, paired(first, second), claim.region.logarithm(), n, exponential))
    return all_of(results)


def interaction(claim: Interaction, curves: Curves) -> TestResult:
    """Does the difference of two arms, less that of two others, lie in the region, at every point?"""
    results = []
    for point, runs in shared_points(curves, *claim.places()):
        ours, theirs, first, second = (values(claim, each) for each in runs)
        what = f"{claim.metric} ({claim.at}) of {claim.of} minus {claim.than}{at_point(point)}"
        what += f", less that of {claim.minus[0]} minus {claim.minus[1]}"
        estimate = paired(paired_differences(ours, theirs), paired_differences(first, second))
        results.append(compared(what, estimate, claim.region.interval, len(set.intersection(*map(set, runs)))))
    return all_of(results)


def trend(claim: Trend, curves: Curves) -> TestResult:
    """Does the arm grow, fall or stay along the axis, as the region says?"""
    places = _places(claim, curves)
    if claim.region.one_sided:
        return _monotone(claim, curves, places)
    region = claim.region.interval
    return all_of([each for low, high in itertools.combinations(places, 2)
                   for each in _between(claim, curves, low, high, region)])  # fmt: skip


def _monotone(claim: Trend, curves: Curves, places: list[Place]) -> TestResult:
    """Does the difference of the ends lie in the region, with no significant step back in between?

    Neighbours may tie: a paper that says "the error grows" does not promise it of every step. The steps are as many
    more chances to contradict, for which the p-value allows.
    """
    forward = Interval(0.0, math.inf) if claim.region.upward else Interval(-math.inf, 0.0)
    ends = _between(claim, curves, places[0], places[-1], claim.region.interval)
    pairs = itertools.pairwise(places) if len(places) > 2 else ()  # the step between two places is that of the ends
    steps = [each for low, high in pairs for each in _between(claim, curves, low, high, forward)]
    return all_of([*ends, *(replace(step, may_tie=True) for step in steps)])


def _between(claim: Trend, curves: Curves, low: Place, high: Place, region: Interval) -> list[TestResult]:
    """Test the difference of the arm at the higher place minus the lower one."""
    return _differences(claim.model_copy(update={"of": high}), curves, low, region)


def _differences(claim: Measured, curves: Curves, rival: Place, region: Interval) -> list[TestResult]:
    """Test at every point whether the arm minus the rival lies in the region."""
    results = []
    for point, (ours, theirs) in shared_points(curves, claim.of, rival):
        first, second = values(claim, ours), values(claim, theirs)
        what = f"{claim.metric} ({claim.at}) of {claim.of} minus {rival}{at_point(point)}"
        results.append(compared(what, paired(first, second), region, len(first.keys() & second.keys())))
    return results


def _places(claim: Trend, curves: Curves) -> list[Place]:
    """Return the arm at every value of the axis: numbers by size (2 before 16), others in the order of the grid."""
    found: list[AxisValue] = []
    for cell in curves:
        point = dict(cell.point)
        if cell.arm == claim.of.arm and claim.axis in point and point[claim.axis] not in found:
            found.append(point[claim.axis])
    if len(found) < 2:
        raise MissingRuns(f"{claim.of} has runs at {len(found)} values of {claim.axis}, two are needed")
    if all(isinstance(each, int | float) and not math.isnan(each) for each in found):
        found.sort(key=lambda each: float(each or 0))
    return [Place(claim.of.arm, (*claim.of.point, (claim.axis, each))) for each in found]


def _log(value: float) -> float:
    """Return the logarithm, of a diverged run too (inf, -inf); NaN of what has none."""
    return logarithm(value) if value >= 0 or value == -math.inf else math.nan
