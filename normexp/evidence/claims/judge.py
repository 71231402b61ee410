"""Judge all claims of an experiment together, since every claim tested is one more chance to be wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from normexp.evidence.claims.claim import Claim, Count
from normexp.evidence.claims.closeness import equals, value
from normexp.evidence.claims.counting import convergence
from normexp.evidence.claims.finding import CONTRADICTED, HOLDS, UNDECIDED, Finding
from normexp.evidence.claims.ordering import difference
from normexp.evidence.claims.reading import NothingToJudge, unfinished
from normexp.evidence.claims.speed import faster, never_reaches, ratio
from normexp.evidence.claims.trend import trend
from normexp.evidence.claims.verdict import Verdict
from normexp.evidence.curves import Curves
from normexp.evidence.stats import holm

LEVEL = 0.05
_TESTS: dict[str, Callable[[Any, Curves], Finding]] = {
    "value": value,
    "difference": difference,
    "ratio": ratio,
    "steps": faster,
    "count": lambda claim, curves: (never_reaches if claim.target is not None else convergence)(claim, curves),
    "equals": equals,
    "trend": trend,
}


def judge(claims: Sequence[Claim], curves: Curves) -> list[Verdict]:
    """Return the verdicts in the order of the claims.

    A statistical claim is decided where its p-value, Holm-corrected over all claims that could be tested, is below
    0.05. Counts and exact equalities are no tests and take no part in the correction.
    """
    findings = [_find(claim, curves) for claim in claims]
    tested = [finding.decision.p for finding in findings if finding.decision]
    corrected = iter(holm(tested))
    verdicts = []
    for claim, finding in zip(claims, findings, strict=True):
        p_holm = next(corrected) if finding.decision else None
        verdicts.append(_verdict(finding, p_holm, len(tested), _pending(claim, curves)))
    return verdicts


def _find(claim: Claim, curves: Curves) -> Finding:
    try:
        return _TESTS[claim.compare](claim, curves)
    except NothingToJudge as reason:
        return Finding(claim.event if isinstance(claim, Count) else claim.compare, 0, note=str(reason))


def _verdict(finding: Finding, p_holm: float | None, family: int, pending: str) -> Verdict:
    verdict = _decided(finding, p_holm)
    open_ = verdict == UNDECIDED and finding.decision is not None
    more = finding.more_seeds(1 - LEVEL / family) if open_ else None
    return Verdict(
        verdict,
        _evidence(finding, p_holm, more) + pending,
        finding.estimate,
        finding.interval,
        finding.n,
        finding.decision.p if finding.decision else None,
        p_holm,
        more,
    )


def _decided(finding: Finding, p_holm: float | None) -> str:
    if finding.note:
        return UNDECIDED
    if finding.decision is None or p_holm is None:
        return finding.settled
    if not p_holm < LEVEL:  # NaN decides nothing
        return UNDECIDED
    return HOLDS if finding.decision.inside < finding.decision.outside else CONTRADICTED


def _evidence(finding: Finding, p_holm: float | None, more: int | None) -> str:
    parts = [finding.what]
    if finding.estimate is not None and finding.interval is not None:
        shown = "not known" if math.isnan(finding.estimate) else f"{finding.estimate:.4g}"
        parts.append(f"{shown}, 95% {finding.interval}")
    parts.append(f"n={finding.n}")
    if finding.decision is not None and p_holm is not None:
        parts.append(f"p={finding.decision.p:.2g}, Holm {p_holm:.2g}")
    parts += [finding.note] if finding.note else []
    parts += [f"about {more} more seed{'s' if more > 1 else ''} would decide"] if more else []
    return "; ".join(parts)


def _pending(claim: Claim, curves: Curves) -> str:
    count = unfinished(curves, {place.arm for place in claim.places()})
    return f"; {count} run{'s' if count > 1 else ''} not finished" if count else ""
