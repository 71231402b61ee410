"""Runs that diverge, or stay finite: k of N."""

from __future__ import annotations

from collections.abc import Sequence

from normexp.evidence.claims.claim import Count, at_point
from normexp.evidence.claims.finding import CONTRADICTED, HOLDS, UNDECIDED, Finding, all_of
from normexp.evidence.claims.reading import runs_by_point
from normexp.evidence.curves import Curves
from normexp.evidence.stats import proportion_interval


def convergence(claim: Count, curves: Curves) -> Finding:
    """Do all runs diverge (stay finite)? All: holds; none: contradicted; some: undecided."""
    diverges = claim.event == "diverges"
    findings = []
    for point, runs in runs_by_point(curves, claim.of).items():
        what = f"{claim.of}{at_point(point)} {claim.event}"
        findings.append(counted(what, [run.diverged == diverges for run in runs.values()]))
    return all_of(findings)


def counted(what: str, happened: Sequence[bool]) -> Finding:
    """Settle a claim by counting runs; the interval is that of the probability."""
    n, k = len(happened), sum(happened)
    if n < 2:
        return Finding(f"{what} in {k}/{n}", n, note="fewer than two seeds decide nothing")
    settled = HOLDS if k == n else UNDECIDED if k else CONTRADICTED
    return Finding(f"{what} in {k}/{n}", n, estimate=k / n, interval=proportion_interval(k, n), settled=settled)
