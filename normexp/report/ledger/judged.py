"""The judged claims of experiments: every claims.json under results/, checked, and those that are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from normexp.errors import UserError, did_you_mean, nearest, unknown
from normexp.evidence.claims import CONTRADICTED, HOLDS, NOT_JUDGED, NOT_YET, UNDECIDED
from normexp.evidence.scales import SMOKE
from normexp.evidence.stats import false_discovery_rate
from normexp.experiments.by_paper import looked_for, says
from normexp.records import damaged, printable, read_json
from normexp.records.names import CLAIMS
from normexp.report.ledger.law_words import BEYOND, is_beyond

VERDICTS = (HOLDS, CONTRADICTED, UNDECIDED)
MEANING_OF_VERDICTS = (
    "A claim holds where the whole 95 % interval of its result, corrected for the experiment's other claims, lies "
    "where it says, is contradicted where it lies elsewhere, and is undecided where it does both. A law that is exact "
    "in a limit only is asked something else: it is contradicted where the 99 % interval of measured minus predicted "
    "misses the remainder that the law allows, and holds where no interval does and all are narrow."
)
EVERY_VERDICT = (*VERDICTS, NOT_JUDGED, NOT_YET, "preview")
_FORM: dict[str, Any] = dict.fromkeys(("text", "source", "place", "kind", "verdict", "evidence"), str)
_FORM |= {"remarks": list, "changed": list, "n": int, "estimate": float | int | str | None}
_FORM |= {"interval": list | None, "p": float | int | None, "targets": list | None, "area": dict | None}
_FORM |= {"holm_interval": list | None, "limits": list | None}
TYPO = 0.75  # how like a word of a claim one has to be that is of none
MANY_WORDS = 4  # more are a title, which the claims do not have
Judged = Mapping[str, Any]  # one entry of claims.json


@dataclass(frozen=True)
class Report:
    """One claims.json. The claims that were tested have `q`: the least false discovery rate over the whole ledger at
    which they still count as found.
    """

    experiment: str
    scale: str
    command: str
    claims: tuple[dict[str, Any], ...]
    changed: tuple[str, ...] = ()
    underpowered: str = ""

    def counts(self, kind: str) -> Counter[str]:
        return Counter(claim["verdict"] for claim in self.claims if claim["kind"] == kind)


def total(reports: Sequence[Report], kind: str) -> Counter[str]:
    """Return how many claims of a kind have each verdict."""
    return sum((each.counts(kind) for each in reports), Counter())


def read_reports(results: Path) -> list[Report]:
    """Return every claims.json under results/NAME/SCALE, by name; each tested claim with its `q`."""
    reports = [read_report(path) for path in sorted(results.glob(f"*/*/{CLAIMS}"))]
    family = tested(reports)
    for claim, q in zip(family, false_discovery_rate([claim["p"] for claim in family]), strict=True):
        claim["q"] = q
    return reports


def read_report(path: Path) -> Report:
    """Read one claims.json. Raises UserError where it is damaged, or was written by an older program."""
    content = read_json(path) or {}
    claims = tuple(content["claims"]) if isinstance(content.get("claims"), list) else ("none",)
    if not all(isinstance(claim, dict) for claim in claims):
        raise damaged(path, "not a list of claims")
    if not all("changed" in claim for claim in claims):
        raise UserError(
            f"{path}: was written by an older normexp; `normexp report {path.parent.parent.name}` renews it"
        )
    if not _is_report(content):
        raise damaged(path, "not the judged claims of an experiment; `normexp report` writes it from the records")
    name, scale, command = (printable(content[key]) for key in ("experiment", "scale", "command"))
    return Report(name, scale, command, tuple(map(_shown, claims)), tuple(map(printable, content["changed"])),
                  printable(content.get("underpowered", "")))  # fmt: skip


def _shown(claim: Judged) -> dict[str, Any]:
    """Return a claim whose texts are one line each, without anything that a terminal would obey."""
    return {key: printable(value) if isinstance(value, str) else value for key, value in claim.items()}


def _is_report(content: Mapping[str, Any]) -> bool:
    head = all(isinstance(content.get(key), str) for key in ("experiment", "scale", "command"))
    head = head and isinstance(content.get("underpowered", ""), str)
    claims = content["claims"]
    right = all(isinstance(claim.get(key), kind) for claim in claims for key, kind in _FORM.items())
    return head and right and isinstance(content.get("changed"), list)


def check_verdict(verdict: str | None) -> None:
    """Raise UserError for a verdict that there is not; None stands for any."""
    if verdict not in (None, *EVERY_VERDICT):
        raise unknown("verdict", str(verdict), EVERY_VERDICT)


def with_claims(reports: Sequence[Report], verdict: str | None, find: str) -> list[Report]:
    """Return the reports with those claims alone that have the verdict, and all words in what is said of them.

    Args:
        verdict: None for any.
        find: words, whatever their case, of the claim, its source or its experiment.

    Raises: UserError where nothing is left.
    """
    check_verdict(verdict)
    left = []
    for report in reports:
        claims = tuple(claim for claim in report.claims if verdict in (None, claim["verdict"]))
        found = tuple(claim for claim in claims if says(_searched(report, claim), find))
        left += [replace(report, claims=found)] if found or not (find or verdict) else []
    if not left:
        given = [f"verdict={verdict}"] * bool(verdict) + [f"find={find}"] * bool(find)
        raise UserError(f"{' '.join(given)}: no claim is like that{_nearest_words(reports, verdict, find)}")
    return left


def _searched(report: Report, claim: Judged) -> str:
    return f"{report.experiment} {claim['source']} {claim['text']}"


def _nearest_words(reports: Sequence[Report], verdict: str | None, find: str) -> str:
    """Return a hint: the same with the nearest word of a claim in place of one that is in none, or fewer of many."""
    texts = [_searched(report, claim).casefold() for report in reports for claim in report.claims
             if verdict in (None, claim["verdict"])]  # fmt: skip
    there = {word for text in texts for word in looked_for(text)}
    asked = looked_for(find)
    near = [word if any(word in text for text in texts) else nearest(word, there, TYPO) or word for word in asked]
    words = " ".join(near)
    if near != asked and any(says(text, words) for text in texts):
        return did_you_mean(quote(f"find={words}"))
    return "; fewer words find more, as an author's name or an arXiv number" if len(find.split()) > MANY_WORDS else ""


def tested(reports: Sequence[Report]) -> list[dict[str, Any]]:
    """Return the claims with a p-value; a preview decides nothing, so it is no part of the family."""
    return [claim for each in reports if each.scale != SMOKE for claim in each.claims
            if isinstance(claim["p"], int | float)]  # fmt: skip


def records_alone(reports: Sequence[Report]) -> list[Report]:
    """Return the reports that are no previews; a ledger has previews (scale smoke) only where there is nothing else."""
    return [each for each in reports if each.scale != SMOKE] or list(reports)


def shown_verdict(claim: Judged) -> str:
    """Return the verdict in words that say at which scale; what is undecided is so at any."""
    scaled = claim["kind"] == "scaled" and claim["verdict"] in (HOLDS, CONTRADICTED)
    return f"{claim['verdict']} at this scale" if scaled else str(claim["verdict"])


def flags_of(claim: Judged) -> Iterator[str]:
    """Yield what a reader has to know at one glance; which commits and processors is among the details."""
    if claim["changed"]:
        yield "Changed after the first run"
    if claim["verdict"] == HOLDS and claim.get("compare") == "follows" and is_beyond(claim.get("law")):
        yield BEYOND[0].upper() + BEYOND[1:]
    for remark in claim["remarks"]:
        if remark.startswith(("ceiling", "from different", "grid", "ties")):
            said = remark.partition(":")[0] if remark.startswith("from") else remark
            yield said[0].upper() + said[1:]
