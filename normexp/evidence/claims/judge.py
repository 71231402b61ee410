"""Judge all claims of an experiment together, since every claim tested is one more chance to be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from normexp.config.text import amount
from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.counting import count, equals
from normexp.evidence.claims.difference import difference, interaction, ratio, trend, value
from normexp.evidence.claims.estimands import Count, Follows, StepsToTarget, Value, is_judged
from normexp.evidence.claims.formula import follows, leaves
from normexp.evidence.claims.reading import at_places, different_origins, unfinished
from normexp.evidence.claims.result import CONTRADICTED, HOLDS, NOT_JUDGED, UNDECIDED, TestResult
from normexp.evidence.claims.sequential import at_looks, looks_taken
from normexp.evidence.claims.speed_up import faster
from normexp.evidence.claims.units import UNNAMED, Named, unit_of
from normexp.evidence.claims.verdict import Adjusted, Verdict
from normexp.evidence.claims.words import Estimated
from normexp.evidence.curves import Curves
from normexp.evidence.reading import MissingRuns
from normexp.evidence.scales import PAPER
from normexp.evidence.stats import CONFIDENCE, LEVEL, Design, SampleSize, holm, holm_confidence, plan

_TESTS: dict[str, Callable[..., TestResult]] = {
    "value": value,
    "difference": difference,
    "ratio": ratio,
    "interaction": interaction,
    "steps": faster,
    "count": count,
    "equals": equals,
    "trend": trend,
    "follows": follows,
    "leaves": leaves,
}


def judge(
    claims: Sequence[Claim],
    curves: Curves,
    scale: str = PAPER,
    design: Design | None = None,
    named: Named = UNNAMED,
) -> list[Verdict]:
    """Return the verdicts in the order of the claims.

    A printed number is judged at scale paper only; at another it is shown, and takes no part in what follows.
    A statistical claim is decided where its p-value, Holm-corrected over all claims that could be tested, is below
    0.05. Counts and exact equalities are no tests and take no part in the correction; a law has one of its own, over
    its places.

    Args:
        design: of seeds that are added in batches; p-values and intervals then hold at all looks together.
        named: units and steps of a study.
    """
    if design is None:
        results = [_result(claim, scale, named, curves) for claim in claims]
    else:
        looks = looks_taken(curves, design)
        results = [at_looks(partial(_result, claim, scale, named), looks, design) for claim in claims]
    family = sum(result.decision is not None for result in results)
    verdicts = []
    for claim, result, adjusted in zip(claims, results, _corrected(results), strict=True):
        verdict = _verdict(claim, result, adjusted, family, curves, unit_of(claim, curves, named))
        if design and verdict.fresh_seeds:
            verdict = replace(verdict, fresh_seeds_in_looks=_wanted(result, family, design.shares[-1]))
        verdicts.append(verdict)
    return verdicts


def _corrected(results: Sequence[TestResult]) -> Iterator[Adjusted | None]:
    """Yield each test's p-value and interval, Holm-corrected over all tests; None for what is no test."""
    tested = [result.decision.p for result in results if result.decision]
    corrected = zip(holm(tested), holm_confidence(tested), strict=True)
    for result in results:
        if result.decision is None:
            yield None
        else:
            p, confidence = next(corrected)
            yield Adjusted(p, confidence, result.interval(confidence))


def _result(claim: Claim, scale: str, named: Named, curves: Curves, share: float = 1.0) -> TestResult:
    """Return what the runs of one look say of a claim; `share` is that of the level."""
    try:
        result = _TESTS[claim.compare](claim, curves, *_more(claim, curves, named, share))
    except MissingRuns as reason:
        result = TestResult(claim.event if isinstance(claim, Count) else claim.compare, 0, note=str(reason))
    return result if is_judged(claim, scale) else replace(result, decision=None, settled=NOT_JUDGED)


def _more(claim: Claim, curves: Curves, named: Named, share: float) -> tuple[Any, ...]:
    """Return what some tests need besides claim and runs."""
    if isinstance(claim, StepsToTarget):
        return (share,)
    unit = unit_of(claim, curves, named)
    return (named.step, unit) if isinstance(claim, Follows) else (unit,) if isinstance(claim, Value) else ()


def _verdict(
    claim: Claim, result: TestResult, adjusted: Adjusted | None, family: int, curves: Curves, unit: str
) -> Verdict:
    compared = at_places(curves, claim.places())
    decided = _decided(result, adjusted)
    wanted = _wanted(result, family) if decided == UNDECIDED else None
    return Verdict(
        decided,
        "; ".join(_evidence(claim, result, adjusted, unit, wanted, unfinished(compared))),
        result.estimate,
        result.interval(CONFIDENCE),
        result.n,
        result.decision.p if result.decision else None,
        adjusted,
        wanted,
        (*result.remarks, *_wider(claim, result, decided, adjusted), *different_origins(compared)),
        result.details,
        unit=unit,
    )


def _wanted(result: TestResult, family: int, share: float = 1.0) -> SampleSize | None:
    """Return how many fresh seeds would decide, corrected over the family and over the claim's own comparisons.

    Args:
        share: of the level, that the last look has; looks before it decide some of the time, so that it takes no more.
    """
    if result.spread is None:
        return None
    sd, near, far = result.spread
    return plan(sd, near, result.n, 1 - share * LEVEL / (family * result.among), far)


def _wider(claim: Claim, result: TestResult, decided: str, adjusted: Adjusted | None) -> Iterator[str]:
    """Say where a test decides and the interval does not: one on the evaluations, or on ranks with ties."""
    region, interval = getattr(claim, "region", None), adjusted.interval if adjusted else None
    if region is None or interval is None or decided not in (HOLDS, CONTRADICTED):
        return
    if (interval.inside if decided == HOLDS else interval.outside)(region.interval):
        return
    if isinstance(claim, StepsToTarget):
        yield "grid: the evaluations decide; the interval, which allows for what happened between them, would not"
    elif "rank" in result.method:
        yield "ties: the ranks, with ties as they are, decide; the interval, made as if there were none, would not"


def _decided(result: TestResult, adjusted: Adjusted | None) -> str:
    if result.note and result.settled != NOT_JUDGED:
        return UNDECIDED
    if result.decision is None or adjusted is None:
        return result.settled
    if not adjusted.p < LEVEL:  # NaN decides nothing
        return UNDECIDED
    return HOLDS if result.decision.inside < result.decision.outside else CONTRADICTED


def _evidence(
    claim: Claim, result: TestResult, adjusted: Adjusted | None, unit: str, wanted: SampleSize | None, pending: int
) -> Iterator[str]:
    yield result.what
    interval = result.interval(CONFIDENCE)
    said = None
    if result.estimate is not None and interval is not None:
        said = Estimated(result.estimate, interval, unit, claim.compare, claim.limits)
        yield said.in_words()
    yield f"n={result.n}"
    if result.decision is not None and adjusted is not None:
        yield f"p={result.decision.p:.2g}, Holm {adjusted.p:.2g}"
        if said and adjusted.confidence > CONFIDENCE and adjusted.interval is not None:
            shown = said.adjusted(adjusted.interval, f"{100 * adjusted.confidence:.3g}%")
            yield from [shown] if shown else []
    if result.note:
        yield result.note
    if wanted and wanted.observed:
        yield f"about {wanted.observed} fresh seeds would decide"
    if pending:
        yield f"{amount(pending, 'run')} not finished"
