"""What is counted run by run and not tested: equality to a tolerance, divergence, a target that is never reached."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from normexp.evidence.claims.estimands import Count, Equals
from normexp.evidence.claims.fields import Place, at_point
from normexp.evidence.claims.reading import runs_by_point, shared_points, values, values_by_point
from normexp.evidence.claims.result import CONTRADICTED, HOLDS, UNDECIDED, TestResult, all_of
from normexp.evidence.claims.steps_of_runs import goal, steps, targets
from normexp.evidence.curves import Curve, Curves
from normexp.evidence.learned import learned
from normexp.evidence.reading import MissingRuns
from normexp.evidence.stats import Steps, longest_watched, paired_differences, proportion_interval


def equals(claim: Equals, curves: Curves) -> TestResult:
    """Is every run equal to the value, or to the other arm's run of its seed, to the tolerance? One run suffices."""
    deviations = list(_deviations(claim, curves))
    other = claim.than or claim.value
    what = f"{claim.metric} ({claim.at}) of {claim.of} against {other}, tolerance {claim.tolerance:.4g}"
    settled = HOLDS
    if not all(each <= claim.tolerance for each in deviations):  # NaN, between two runs that diverged, is neither
        settled = CONTRADICTED if any(each > claim.tolerance for each in deviations) else UNDECIDED
    largest = float(np.max(deviations))  # NaN if there is one
    return TestResult(f"{what}: largest deviation {largest:.3g}", len(deviations), estimate=largest, settled=settled)


def count(claim: Count, curves: Curves) -> TestResult:
    """Do all runs do it? All: holds; none: contradicted; some: undecided."""
    return (_never_reaches if claim.target is not None else _convergence)(claim, curves)


def _convergence(claim: Count, curves: Curves) -> TestResult:
    diverges = claim.event == "diverges"
    found = runs_by_point(curves, claim.of)
    result = all_of([
        _counted(f"{claim.of}{at_point(point)} {claim.event}", [run.diverged == diverges for run in runs.values()])
        for point, runs in found.items()
    ])  # fmt: skip
    return replace(
        result, remarks=(*result.remarks, *_above_chance(run for runs in found.values() for run in runs.values()))
    )


def _above_chance(runs: Iterable[Curve]) -> Iterator[str]:
    """Say how many runs learned, where chance is known: finite alone means little."""
    judged = [learned(run) for run in runs]
    if None not in judged:
        yield f"{sum(map(bool, judged))} of {len(judged)} runs learned: they ended three standard errors above chance"


def _never_reaches(claim: Count, curves: Curves) -> TestResult:
    results, setter = [], claim.target if isinstance(claim.target, Place) else claim.of
    for point, (ours, rival) in shared_points(curves, claim.of, setter):
        found = list(steps(claim, ours, targets(claim, rival, ours)).values())
        what = f"{claim.of} never reaches {goal(claim)}{at_point(point)}{_watched(found)}"
        if any(math.isnan(each.step) for each in found):
            results.append(TestResult(what, len(found), note="a seed has no target to reach"))
        else:
            results.append(_counted(what, [each.step == math.inf for each in found]))
    return all_of(results)


def _watched(runs: Sequence[Steps]) -> str:
    """Return for how long it was looked for: a run that merely ended may get there later."""
    longest = longest_watched(runs)
    return "" if longest is None else f" within {longest:.0f} steps"


def _counted(what: str, happened: Sequence[bool]) -> TestResult:
    """Settle a claim by counting runs; the interval is that of the probability."""
    n, k = len(happened), sum(happened)
    if n < 2:
        return TestResult(f"{what} in {k}/{n}", n, note="fewer than two seeds decide nothing")
    settled = HOLDS if k == n else UNDECIDED if k else CONTRADICTED
    share = k / n
    return TestResult(f"{what} in {k}/{n}", n, share, lambda level: proportion_interval(k, n, level), settled=settled)


def _deviations(claim: Equals, curves: Curves) -> Iterator[float]:
    if claim.than:
        for point, (ours, theirs) in shared_points(curves, claim.of, claim.than):
            differences = paired_differences(values(claim, ours), values(claim, theirs))
            if not differences:
                raise MissingRuns(f"no seed in common{at_point(point)}")
            yield from map(abs, differences.values())
    else:
        for sample in values_by_point(claim, curves).values():
            yield from (abs(value - float(claim.value or 0)) for value in sample.values())
