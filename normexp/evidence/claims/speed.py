"""Steps to a target, ratios, and runs that never reach a target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from normexp.evidence.claims.claim import Count, Place, Ratio, StepsToTarget, at_point
from normexp.evidence.claims.counting import counted
from normexp.evidence.claims.finding import Finding, all_of, compared
from normexp.evidence.claims.reading import Runs, best, shared_points, steps, values
from normexp.evidence.curves import Curves, Point
from normexp.evidence.stats import SpeedUp, paired, speed_up
from normexp.evidence.stats.speed_up import exponential, logarithm


def faster(claim: StepsToTarget, curves: Curves) -> Finding:
    """Does the speed-up of the arm over the other lie in the region, at every point?"""
    findings = []
    for point, (ours, theirs, reference) in _with_target(claim, curves, claim.than):
        targets = _targets(claim, reference, ours, theirs)
        race = speed_up(steps(claim, theirs, targets), steps(claim, ours, targets))
        what = _told(claim, race, at_point(point))
        findings.append(compared(what, race.estimate, claim.region.logarithm(), race.n, exponential))
    return all_of(findings)


def ratio(claim: Ratio, curves: Curves) -> Finding:
    """Does the metric, over that of the other arm, lie in the region, at every point?"""
    findings = []
    region = claim.region.logarithm()
    for point, (ours, theirs) in shared_points(curves, claim.of, claim.than):
        first, second = ({s: _log(v) for s, v in values(claim, runs).items()} for runs in (ours, theirs))
        what = f"{claim.metric} ({claim.at}) of {claim.of} over {claim.than}{at_point(point)}"
        findings.append(compared(what, paired(first, second), region, len(first.keys() & second.keys()), exponential))
    return all_of(findings)


def never_reaches(claim: Count, curves: Curves) -> Finding:
    """Does no run reach the target? All: holds; none: contradicted; some: undecided."""
    findings = []
    for point, (ours, reference) in _alone_with_target(claim, curves):
        reached = [each.step for each in steps(claim, ours, _targets(claim, reference, ours)).values()]
        what = f"{claim.of} never reaches {_goal(claim)}{at_point(point)}"
        if any(map(math.isnan, reached)):
            findings.append(Finding(what, len(reached), note="a seed has no target to reach"))
            continue
        findings.append(counted(what, [step == math.inf for step in reached]))
    return all_of(findings)


def _with_target(claim: StepsToTarget, curves: Curves, than: Place) -> Iterator[tuple[Point, list[Runs]]]:
    """Yield every point with the runs of the arm, of the other, and of the one that sets the target."""
    return shared_points(curves, claim.of, than, claim.target if isinstance(claim.target, Place) else than)


def _alone_with_target(claim: Count, curves: Curves) -> Iterator[tuple[Point, list[Runs]]]:
    return shared_points(curves, claim.of, claim.target if isinstance(claim.target, Place) else claim.of)


def _targets(claim: StepsToTarget | Count, reference: Runs, *arms: Runs) -> Mapping[int, float]:
    """Return the target of every seed: one number for all, or the best of the reference's run with that seed."""
    if isinstance(claim.target, Place):
        return {seed: best(curve, claim.metric, claim.better) for seed, curve in reference.items()}
    assert claim.target is not None  # check_claim has made sure
    return {seed: claim.target for runs in arms for seed in runs}


def _goal(claim: StepsToTarget | Count) -> str:
    target = f"the best of {claim.target}" if isinstance(claim.target, Place) else f"{claim.target:.4g}"
    return f"{claim.metric} {target}"


def _told(claim: StepsToTarget, race: SpeedUp, at: str) -> str:
    baseline, arm = (f"{each:.0f}" if math.isfinite(each) else "never" for each in (race.baseline, race.arm))
    never = [f"{name} never in {k}/{race.n}" for name, k in zip((claim.than, claim.of), race.never, strict=True) if k]
    medians = f"median {arm} against {baseline}" + "".join(f", {each}" for each in never)
    return f"speed-up of {claim.of} over {claim.than} to {_goal(claim)}{at} ({medians})"


def _log(value: float) -> float:
    """Return the logarithm, of a diverged run too (inf, -inf); NaN of what has none."""
    return logarithm(value) if value >= 0 or value == -math.inf else math.nan
