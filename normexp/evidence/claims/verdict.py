"""The verdict on a claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import kind_at
from normexp.evidence.scales import SMOKE
from normexp.evidence.stats import Interval, SampleSize
from normexp.records import plain


@dataclass(frozen=True)
class Adjusted:
    """What Holm's correction over the experiment makes of one test: the p-value, and the interval that decides."""

    p: float
    confidence: float
    interval: Interval | None


@dataclass(frozen=True)
class Verdict:
    """What our runs say of one claim.

    Args:
        verdict: holds, contradicted, undecided; not judged, or not judged yet.
        evidence: one line, complete in itself.
        estimate, interval: of the difference, value, ratio or share of runs that decides; 95 %, not corrected.
        n: number of seeds.
        p: two-sided, not corrected; None where nothing was tested.
        adjusted: the same after Holm's correction.
        fresh_seeds: how many seeds, none of them used again, would probably decide, tested once at the level that the
            correction leaves a claim at least; None where nothing is open or that cannot be told.
        remarks: what a reader has to know beside: a target's origin, a ceiling, arms from different commits.
        details: of the steps to a range of targets; of a law, place by place.
        fresh_seeds_in_looks: the same with the looks of a sequential design, in proportion, for a last look with its
            share of the level; None without a design.
        unit: of estimate and interval, as people read them; empty where there is none.
    """

    verdict: str
    evidence: str
    estimate: float | None = None
    interval: Interval | None = None
    n: int = 0
    p: float | None = None
    adjusted: Adjusted | None = None
    fresh_seeds: SampleSize | None = None
    remarks: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    fresh_seeds_in_looks: SampleSize | None = None
    unit: str = ""


def entry(claim: Claim, verdict: Verdict, paper: str, scale: str) -> dict[str, Any]:
    """Return a judged claim as claims.json has it; a preview (scale smoke) has no verdict."""
    adjusted, seeds = verdict.adjusted, verdict.fresh_seeds
    facts = {
        "text": claim.text,
        "source": f"{paper}, {claim.source}",
        "place": claim.source,
        "kind": kind_at(claim, scale),
        "compare": claim.compare,
        "verdict": "preview" if scale == SMOKE else verdict.verdict,
        "evidence": verdict.evidence,
        "remarks": list(verdict.remarks),
        "estimate": verdict.estimate,
        "interval": _ends(verdict.interval),
        "limits": claim.limits,
        "unit": verdict.unit,
        "n": verdict.n,
        "p": verdict.p,
        "p_holm": adjusted.p if adjusted else None,
        "holm_confidence": adjusted.confidence if adjusted else None,
        "holm_interval": _ends(adjusted.interval if adjusted else None),
        "fresh_seeds": {"observed": seeds.observed, "safeguard": seeds.safeguard} if seeds else None,
        **verdict.details,
    }
    shown: dict[str, Any] = plain(facts)
    return shown


def _ends(interval: Interval | None) -> list[float] | None:
    return [interval.low, interval.high] if interval else None
