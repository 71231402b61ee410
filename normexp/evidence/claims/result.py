"""What the runs say about a claim, before the correction over all claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from normexp.evidence.stats import LEVEL, EquivalenceTest, Interval, PointEstimate
from normexp.evidence.stats.speed_up import CensoredRatio

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
NOT_JUDGED = "not judged"  # a printed number, at another scale than its own
NOT_YET = "not judged yet"  # of a grid, or of a first look, that is trained in part


@dataclass(frozen=True)
class TestResult:
    """One comparison, or the one of several that decides.

    Args:
        what: what was compared or counted.
        n: number of seeds.
        estimate: the number in question, as it is printed.
        interval: of it, by confidence; None where there is none.
        decision: p-values of a statistical claim; None where nothing was tested.
        method: of the test.
        settled: the verdict of a claim that is no statistical one (counts, exact equality).
        note: why there is neither.
        spread: for planning: standard deviation between seeds and the distances to the ends of the region.
        remarks: what a reader of the verdict has to know: the origin of a target, a ceiling.
        details: what goes beyond the verdict, for claims.json.
        may_tie: it need not be shown to lie in the region, only not to lie outside: a step of a trend.
        comparisons: the results of which this is the one that decides.
        among: of how many results it is the most extreme one, which the interval and planned seeds allow for.
    """

    what: str
    n: int
    estimate: float | None = None
    interval: Callable[[float], Interval | None] = lambda confidence: None
    decision: EquivalenceTest | None = None
    method: str = ""
    settled: str = UNDECIDED
    note: str = ""
    spread: tuple[float, float, float] | None = None
    remarks: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    may_tie: bool = False
    comparisons: tuple[TestResult, ...] = ()
    among: int = 1

    __test__ = False  # no test of pytest's


def compared(
    what: str, estimate: PointEstimate | None, region: Interval, n: int, shown: Callable[[float], float] = float
) -> TestResult:
    """Test whether the estimate lies in the region.

    Args:
        n: number of seeds, also where they are too few for an estimate.
        shown: from the scale of the test to the one to be printed (exp, for ratios).
    """
    if estimate is None:
        return TestResult(what, n, note="fewer than two seeds decide nothing")

    def interval(confidence: float) -> Interval:
        ends = estimate.confidence_interval(confidence)
        return Interval(shown(ends.low), shown(ends.high))

    decision, method = EquivalenceTest.of(estimate, region), estimate.method
    value, spread = shown(estimate.value), _spread(estimate, region)
    return TestResult(f"{what} ({method})", n, value, interval, decision, method, spread=spread)


def all_of(results: Sequence[TestResult]) -> TestResult:
    """Return the result on "all of these hold", shown by the one that is furthest from holding.

    It holds where the weakest does (intersection-union: no correction needed); it is contradicted where any one
    is, at a p-value corrected for having looked at all of them (Bonferroni). The interval is that of the comparison
    shown, corrected where its p-value is, so that it decides where the p-value does.
    """
    for result in results:
        if result.note:
            return result
    decisions = [result.decision for result in results if result.decision]
    if len(decisions) == len(results):
        return _weakest(results, decisions)
    # Nothing was tested: a counterexample beats a doubt beats a confirmation.
    shown = min(results, key=lambda result: (CONTRADICTED, UNDECIDED, HOLDS).index(result.settled))
    return replace(shown, what=shown.what + _among(len(results)))


def _weakest(results: Sequence[TestResult], decisions: Sequence[EquivalenceTest]) -> TestResult:
    number = len(results)
    insides = [_inside(result, decision, number) for result, decision in zip(results, decisions, strict=True)]
    inside, outside = max(insides), min(1.0, number * min(decision.outside for decision in decisions))
    keys = [each.outside for each in decisions] if inside >= outside else [-each for each in insides]
    shown = results[keys.index(min(keys))]
    shown = replace(shown, decision=EquivalenceTest(inside, outside), comparisons=tuple(results))
    if inside < outside:
        return replace(shown, what=shown.what + _among(sum(not result.may_tie for result in results)))
    interval = _allowing_for(shown.interval, number)
    return replace(shown, interval=interval, among=number, what=shown.what + _among(number))


def _among(number: int) -> str:
    return f", the least favourable of {number} comparisons" if number > 1 else ""


def _inside(result: TestResult, decision: EquivalenceTest, number: int) -> float:
    """Return the p-value against "it lies outside"; of what may tie 0, unless it is shown to lie there."""
    if not result.may_tie:
        return decision.inside
    return 1.0 if number * decision.outside < LEVEL else 0.0


def _allowing_for(interval: Callable[[float], Interval | None], number: int) -> Callable[[float], Interval | None]:
    """Return the interval of the most extreme of several comparisons (Bonferroni)."""
    return lambda confidence: interval(1 - (1 - confidence) / number)


def _spread(estimate: PointEstimate, region: Interval) -> tuple[float, float, float] | None:
    decides = estimate.deciding(region) if isinstance(estimate, CensoredRatio) else estimate
    return None if decides is None or decides.sd is None else (decides.sd, *region.distances(decides.value))
