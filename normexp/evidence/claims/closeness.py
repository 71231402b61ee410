"""within and equals: near a number or near another arm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from normexp.evidence.claims.claim import Claim, at_point
from normexp.evidence.claims.finding import CONTRADICTED, HOLDS, UNDECIDED, Finding, all_of, compared
from normexp.evidence.claims.ordering import differences
from normexp.evidence.claims.reading import runs_by_point, shared_points, values
from normexp.evidence.curves import Curves
from normexp.evidence.stats import Interval, Printed, one_sample, paired_differences


def within(claim: Claim, curves: Curves) -> Finding:
    """Equivalence: is the arm shown to be within the margin of a value or of another arm, at every point?"""
    if claim.than:
        return all_of(differences(claim, curves, claim.than, Interval(-claim.margin, claim.margin)))
    region = _around(claim.value, claim.margin)
    findings = []
    for point, runs in runs_by_point(curves, claim.of).items():
        sample = [value for _, value in sorted(values(claim, runs).items())]
        what = f"{claim.metric} ({claim.at}) of {claim.of}{at_point(point)}, to be {claim.value}"
        findings.append(compared(what, one_sample(sample), region, len(sample)))
    return all_of(findings)


def equals(claim: Claim, curves: Curves) -> Finding:
    """Is every run equal to the value, or to the other arm's run of its seed, to the tolerance? One run suffices."""
    deviations = list(_deviations(claim, curves))
    other = claim.than or claim.value
    what = f"{claim.metric} ({claim.at}) of {claim.of} against {other}, tolerance {claim.margin:.4g}"
    if not deviations:
        return Finding(what, 0, note="no seed in common")
    if all(each <= claim.margin for each in deviations):
        settled = HOLDS
    else:  # NaN, between two runs that diverged, is neither
        settled = CONTRADICTED if any(each > claim.margin for each in deviations) else UNDECIDED
    largest = float(np.max(deviations))  # NaN if there is one
    return Finding(f"{what}: largest deviation {largest:.3g}", len(deviations), estimate=largest, settled=settled)


def _around(value: float | str | None, margin: float) -> Interval:
    if isinstance(value, str):
        return Printed.of(value).region(margin)
    assert value is not None  # check_claim has made sure
    return Interval(value - margin, value + margin)


def _deviations(claim: Claim, curves: Curves) -> Iterator[float]:
    if claim.than:
        for _, (ours, theirs) in shared_points(curves, claim.of, claim.than):
            yield from map(abs, paired_differences(values(claim, ours), values(claim, theirs)).values())
    else:
        for runs in runs_by_point(curves, claim.of).values():
            yield from (abs(value - float(claim.value or 0)) for value in values(claim, runs).values())
