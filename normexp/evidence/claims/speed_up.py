"""Steps to a target: one target or several, and beside them the whole range of targets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from normexp.evidence.claims.estimands import StepsToTarget
from normexp.evidence.claims.fields import Place, at_point
from normexp.evidence.claims.over_targets import over_targets
from normexp.evidence.claims.reading import Runs, shared_points
from normexp.evidence.claims.result import TestResult, all_of, compared
from normexp.evidence.claims.steps_of_runs import goal, steps, targets
from normexp.evidence.curves import Curves, Point
from normexp.evidence.stats import SpeedUp, Steps, longest_watched, median, speed_up
from normexp.evidence.stats.speed_up import exponential


def faster(claim: StepsToTarget, curves: Curves, share: float = 1.0) -> TestResult:
    """Does the speed-up of the arm over the other lie in the region, at every point and to every target?"""
    several = claim.target if isinstance(claim.target, list) else [claim.target]
    return all_of([_to_one(claim.model_copy(update={"target": target}), *runs, share)
                   for runs in _by_point(claim, curves) for target in several])  # fmt: skip


def _by_point(claim: StepsToTarget, curves: Curves) -> Iterator[tuple[Point, list[Runs]]]:
    """Yield every point with the runs of the arm, of the other, and of the one that sets the target."""
    return shared_points(curves, claim.of, claim.than, claim.target if isinstance(claim.target, Place) else claim.than)


def _to_one(claim: StepsToTarget, point: Point, runs: list[Runs], share: float) -> TestResult:
    ours, theirs, reference = runs
    wanted = targets(claim, reference, ours, theirs)
    baseline, own = steps(claim, theirs, wanted), steps(claim, ours, wanted)
    race = speed_up(baseline, own)
    what = _described(claim, race, at_point(point))
    if race.n and all(each.step == 0 for each in (*baseline.values(), *own.values())):
        return TestResult(what, race.n, note="every run is there before it trains")
    result = compared(what, race.estimate, claim.region.logarithm(), race.n, exponential)
    remarks = [_origin(claim), *_length(claim, baseline), *_ceiling(claim, wanted, theirs)]
    details = over_targets(theirs, ours, claim.metric, claim.better == "higher", share)
    race_of = {"race": {"of": str(claim.of), "than": str(claim.than), "metric": claim.metric}}
    return replace(result, remarks=tuple(remarks), details={**race_of, **details})


def _described(claim: StepsToTarget, race: SpeedUp, at: str) -> str:
    baseline, arm = (f"{each:.0f}" if math.isfinite(each) else "never" for each in (race.baseline, race.arm))
    never = [f"{name} never in {k}/{race.n}" for name, k in zip((claim.than, claim.of), race.never, strict=True) if k]
    medians = f"median {arm} against {baseline}" + "".join(f", {each}" for each in never)
    return f"speed-up of {claim.of} over {claim.than} to {goal(claim)}{at} ({medians})"


def _origin(claim: StepsToTarget) -> str:
    if claim.origin:
        return f"target: {claim.origin}"
    return f"target: the best of {claim.target}, seed by seed" if isinstance(claim.target, Place) else "target: ours"


def _length(claim: StepsToTarget, baseline: dict[int, Steps]) -> Iterator[str]:
    """Say how long the runs are where the target is the baseline's own best: its steps then grow with the run."""
    longest = longest_watched(baseline.values())
    if claim.target == claim.than and longest is not None:
        typical = median(each.step for each in baseline.values())
        yield f"{claim.than} meets its own best after {typical:.0f} of the {longest:.0f} steps of its run"


def _ceiling(claim: StepsToTarget, wanted: dict[int, float], runs: Runs) -> Iterator[str]:
    """Say where a target leaves at most one error in the examples that it is measured on."""
    split, _, metric = claim.metric.partition("/")
    examples = [run.made.examples.get(split, 0) for run in runs.values()]
    if metric == "accuracy" and min(examples, default=0) > 0:
        at_the_top = sum(target > 1 - 2 / min(examples) for target in wanted.values())
        if at_the_top:
            yield f"ceiling: in {at_the_top} of {len(wanted)} seeds the target is above 1 - 2/{min(examples)}"
