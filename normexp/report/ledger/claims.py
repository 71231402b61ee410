"""The ledger: every judged claim under results/, counted by kind, one line each, the evidence behind it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from textwrap import fill
from typing import Any
from urllib.parse import quote

from normexp.config.text import amount
from normexp.evidence.claims import CONTRADICTED, HOLDS, KINDS, NOT_JUDGED, NOT_YET, UNDECIDED
from normexp.evidence.claims.units import POINTS, TIMES
from normexp.evidence.claims.words import Estimated
from normexp.evidence.metrics import is_share
from normexp.evidence.stats import LEVEL, Interval, holm
from normexp.report.ledger.judged import (
    MEANING_OF_VERDICTS,
    VERDICTS,
    Judged,
    Report,
    flags_of,
    shown_verdict,
    tested,
    total,
)
from normexp.report.ledger.law_words import law_words
from normexp.report.markdown import escaped, prose

FULL_SCALE = "full scale"
WORDS = ("text", "source", "place", "evidence", "remarks", "changed")
MEANING = f"""\
{fill(MEANING_OF_VERDICTS, 120)}

Counted as holds / contradicted / undecided, by kind:

- **exact**: identities, arithmetic and theorems, tested to a tolerance; most of them could hardly fail.
- **full scale**: training or measurement at the set-up that was published, or of a law of theory at a size that its
  assumptions allow, on a network that is mostly ours; below the table these are counted apart. What a publication does
  not say is ours there, too, and may decide, as may a copy of its data: the deviations below each table name it.
- **scaled**: at a smaller scale of ours. "Holds at this scale" says that the ordering is seen there, and no more.
- **own**: claimed by no source; what we looked for besides.

A published number is judged at the published set-up only; at another scale it is *not judged*. Claims on runs that are
trained in part are *not judged yet*, and counted nowhere."""
TOO_FEW = "An asterisk: too few seeds to decide every claim of the family by ranks; the experiment says why it stands."


def as_json(reports: Sequence[Report]) -> dict[str, Any]:
    """Return the ledger as plain data."""
    return {
        "counts": [
            {"experiment": each.experiment, "scale": each.scale, "kind": kind, **dict(each.counts(kind))}
            for each in reports
            for kind in KINDS
            if each.counts(kind)
        ],
        "totals": {kind: dict(total(reports, kind)) for kind in KINDS},
        "experiments": [vars(each) | {"claims": list(each.claims)} for each in reports],
    }


def as_markdown(reports: Sequence[Report], ledger: Sequence[Report] = ()) -> Iterator[str]:
    """Yield the lines of the ledger, or of a part of it: the table of counts, one line a claim, then the evidence.

    Args:
        ledger: the whole of which `reports` are a part; by default they are the whole.
    """
    too_few = [TOO_FEW, ""] if any(report.underpowered for report in reports) else []
    whole = ledger or reports
    yield from ("# Claims", "", MEANING, "", *too_few, *_count_table(reports), "", *_laws(reports, whole))
    yield from (*_multiplicity(reports, whole), "")
    yield from (
        "## Every claim in a line",
        "",
        "Estimate, 95 % interval and number of seeds; points are percentage points, times a ratio. The interval is",
        "that of a claim by itself (of the least favourable of several comparisons, widened for their number);",
        "beside it stands the one adjusted for the experiment's other claims (Holm) where that alone leaves a claim",
        "undecided. Of a law: measurement and formula where they are furthest apart, their difference with its 99 %",
        "interval, and what the law allows. A name leads to the table, with set-up and deviations; every run behind it",
        "is beside it or below, as a folder or in a `records.zip`. The evidence is at the end, with the command that",
        "trains the runs again.",
        "",
    )
    for report in reports:
        yield from (f"**{_table_of(report)}**, scale {report.scale}", "", *map(claim_line, report.claims))
        yield from (f"- *{prose(change)}*" for change in report.changed)
        if report.underpowered:
            yield f"- *underpowered: {prose(report.underpowered)}*"
        yield ""
    yield from ("## The evidence", "")
    for report in reports:
        yield from _details(report)


def _inert(claim: Judged) -> Judged:
    """Return a claim that is only words to Markdown."""
    return {key: _prose(value) if key in WORDS else value for key, value in claim.items()}


def _prose(value: Any) -> Any:
    return prose(value) if isinstance(value, str) else tuple(map(prose, value))


def _table_of(report: Report) -> str:
    return f"[{prose(report.experiment)}]({quote(report.experiment)}/{report.scale}/table.md)"


def _count_table(reports: Sequence[Report]) -> Iterator[str]:
    yield f"| experiment | scale | {' | '.join(KINDS)} | all |"
    yield "|---|---|" + "---|" * (len(KINDS) + 1)
    for each in reports:
        yield _row(
            escaped(each.experiment) + (" *" if each.underpowered else ""),
            each.scale,
            [each.counts(kind) for kind in KINDS],
        )
    yield _row("**all**", "", [total(reports, kind) for kind in KINDS])


def _laws(reports: Sequence[Report], ledger: Sequence[Report]) -> Iterator[str]:
    """Say how many of the full-scale claims are about laws, whose networks the papers did not train.

    The whole ledger tells which experiments are: a search may find others of their claims than what follows a law.
    """
    laws = {_whose(each) for each in ledger if any(claim.get("compare") == "follows" for claim in each.claims)}
    found = [each for each in reports if _whose(each) in laws]
    theirs, every = total(found, FULL_SCALE), total(reports, FULL_SCALE)
    if theirs:
        yield f"Of the full-scale claims {_cell(theirs)} stand in experiments on laws of theory."
        if others := every - theirs:  # a search may find those of laws alone
            yield f"At set-ups that were published stand the other {_cell(others)}."
        yield ""


def _whose(report: Report) -> tuple[str, str]:
    return report.experiment, report.scale


def _row(name: str, scale: str, counts: Sequence[Counter[str]]) -> str:
    cells = [_cell(each) for each in (*counts, sum(counts, Counter()))]
    return f"| {name} | {scale} | {' | '.join(cells)} |"


def _cell(counts: Counter[str]) -> str:
    judged = " / ".join(str(counts[verdict]) for verdict in VERDICTS) if any(map(counts.get, VERDICTS)) else ""
    others = [f"{counts[verdict]} {verdict}" for verdict in (NOT_JUDGED, NOT_YET) if counts[verdict]]
    previews = [amount(counts["preview"], "preview")] if counts["preview"] else []
    if previews and not judged and not others:
        return previews[0]
    return f"{judged} ({', '.join([*others, *previews])})".strip() if others or previews else judged


def _multiplicity(reports: Sequence[Report], ledger: Sequence[Report]) -> Iterator[str]:
    """Say what a correction over the whole ledger would leave of these reports' decided claims."""
    own, family = tested(reports), tested(ledger)
    decided = [claim for claim in own if claim["verdict"] in (HOLDS, CONTRADICTED)]
    over_all = zip(family, holm([claim["p"] for claim in family]), strict=True)
    found = {id(claim) for claim, p in over_all if p < LEVEL}  # two claims may read the same
    kept = sum(id(claim) in found for claim in decided)
    whole = f" (of {len(family)} in the whole ledger)" if len(family) > len(own) else ""
    was, be = "was" if len(own) == 1 else "were", "is" if len(decided) == 1 else "are"
    yield (
        f"{amount(len(own), 'claim')} {was} tested{whole}, {len(decided)} of them {be} decided at a level of 5 % "
        f"within their experiment (Holm). Holm's correction over the whole ledger would leave {kept} of them."
        + _rate(family, decided)
    )


def _rate(family: Sequence[Judged], decided: Sequence[Judged]) -> str:
    """Return a sentence on false discoveries, rounded up. The rate is one of all claims with a p as small.

    Of a part of these that was chosen by another rule, as the decided ones are, nothing follows.
    """
    if not decided:
        return ""
    q = max(claim["q"] for claim in decided)
    found = sum(claim["q"] <= q for claim in family)
    return (
        f" {found} claims have a q as small as the largest of these: of all {found} together the false discovery "
        f"rate is at most {math.ceil(round(1000 * q, 6)) / 10:.1f} % (Benjamini and Hochberg, for claims that are "
        "independent or depend positively)."
    )


def claim_line(claim: Judged) -> str:
    claim = _inert(claim)
    flags = "".join(f" *{flag}*." for flag in flags_of(claim))
    return f"- **{shown_verdict(claim)}**: {claim['text']}.{_measured(claim)} [{claim['place']}]{flags}"


def _measured(claim: Judged) -> str:
    """Return estimate and interval; the adjusted one, too, where the correction is why the claim is undecided."""
    if not claim["interval"]:
        law = claim.get("law")
        return f" {law_words(law, claim.get('unit', '')).in_a_line()}, n={claim['n']}" if law else ""
    said = Estimated(
        _number(claim["estimate"]),
        _ends(claim["interval"]),
        claim.get("unit", ""),
        str(claim.get("compare")),
        claim.get("limits") or (),
    )
    adjusted = said.adjusted(_ends(claim["holm_interval"])) if _is_left_open(claim) else ""
    return f" {said.in_words(brackets='')}{f', {adjusted}' if adjusted else ''}, n={claim['n']}"


def _ends(ends: Sequence[float | str]) -> Interval:
    low, high = map(float, ends)
    return Interval(low, high)


def _is_left_open(claim: Judged) -> bool:
    """Tell whether the claim would be decided by itself, and is not among the others of its experiment."""
    alone = isinstance(claim["p"], int | float) and claim["p"] <= LEVEL
    return claim["verdict"] == UNDECIDED and alone and claim.get("holm_interval") is not None


def _details(report: Report) -> Iterator[str]:
    name, command = (escape(text, quote=False) for text in (report.experiment, report.command))
    yield f"<details><summary>{name}, scale {report.scale}: <code>{command}</code></summary>"
    yield ""
    for claim in map(_inert, report.claims):
        yield f"- {claim['text']}: **{shown_verdict(claim)}** ({claim['kind']}). [{claim['source']}]"
        yield f"  - {claim['evidence']}" + (f"; q={claim['q']:.2g}" if "q" in claim else "")
        yield from (f"  - {remark}" for remark in claim["remarks"])
        yield from (f"  - {line}" for line in _over_targets(claim))
        yield from (f"  - {change}" for change in claim["changed"])
    yield ""
    yield "</details>"
    yield ""


def _over_targets(claim: Judged) -> Iterator[str]:
    """Yield the speed-up at every target, and the area between the learning curves."""
    share = is_share(claim.get("race", {}).get("metric", ""))
    if claim.get("targets"):
        points = (f"{_target(at['target'], share)}: "
                  f"{_without_confidence(at['speed_up'], at, TIMES, 'steps')}"
                  for at in claim["targets"])  # fmt: skip
        yield f"speed-up by target (unadjusted 95 % intervals): {'; '.join(points)}"
    if area := claim.get("area"):
        said = _without_confidence(area["difference"], area, POINTS if share else "")
        yield f"difference of the means over training: {said}, p={float(area['p']):.2g}"


def _without_confidence(estimate: Any, ends: Mapping[str, Any], unit: str, compare: str = "") -> str:
    """Write an estimate of which the line has said how sure its interval is."""
    return Estimated(_number(estimate), _ends([ends["low"], ends["high"]]), unit, compare).in_words("", "")


def _target(value: float, share: bool) -> str:
    return f"{100 * value:.4g} %" if share else f"{value:g}"


def _number(value: float | str | None) -> float:
    return math.nan if value is None else float(value)
