"""`normexp laws`: every law on one page, formula beside measurement, from the judged claims under results/."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from normexp.errors import UserError
from normexp.evidence.scales import PAPER
from normexp.experiments.load import laws, read
from normexp.records import find_runs, printable
from normexp.records.names import CLAIMS
from normexp.report.ledger.judged import read_report
from normexp.report.ledger.law_words import LawWords, law_words

WIDTH = 118
NOT_YET = "not measured"
WORDS = {
    ("follows", "holds"): "follows",
    ("follows", "contradicted"): "does not follow",
    ("leaves", "holds"): "control leaves the law",
    ("leaves", "contradicted"): "control follows",
}


@dataclass(frozen=True)
class Check:
    """One claim of a law.

    Args:
        what: the claim's text.
        compare: follows, leaves, or another estimand.
        verdict: as the page says it.
        measured, predicted, low, high, allowed: where the measurement is furthest from the formula, with the ends of
            the interval of their difference; None of other estimands.
        where: that place.
        evidence: one line, complete in itself.
        own: whether it is a conjecture of ours, which is no part of the law.
        unit: of measured and predicted, `%` of fractions; empty where there is none.
    """

    what: str
    compare: str
    verdict: str
    measured: float | None
    predicted: float | None
    where: str
    evidence: str
    own: bool = False
    low: float | None = None
    high: float | None = None
    allowed: float | None = None
    identity: bool = False
    unit: str = ""

    @property
    def words(self) -> LawWords | None:
        """The numbers as people read them; None of other estimands."""
        if self.measured is None or self.predicted is None:
            return None
        return law_words({**asdict(self), "remainder": self.allowed}, self.unit)


@dataclass(frozen=True)
class Law:
    """One law and what was found; without checks it was not measured yet.

    Args:
        seconds: of all its runs together, on one thread each.
    """

    experiment: str
    name: str
    formula: str
    from_memory: bool
    paper: str
    checks: tuple[Check, ...]
    seconds: float | None
    command: str

    @property
    def title(self) -> str:
        """The name as a sentence begins."""
        return f"{self.name[:1].upper()}{self.name[1:]}"

    @property
    def verdict(self) -> str:
        """`holds` where every follow and every control does, else the worst verdict among them."""
        own = [check for check in self.checks if check.compare in ("follows", "leaves") and not check.own]
        if not own:
            return NOT_YET
        good = {WORDS[compare, "holds"] for compare in ("follows", "leaves")}
        bad = [check.verdict for check in own if check.verdict not in good]
        return "holds" if not bad else "in part" if len(bad) < len(own) else bad[0]


def read_laws(results: Path, names: Sequence[str] = ()) -> list[Law]:
    """Return the laws that are asked for, by default all, measured or not. Raises UserError for a damaged report."""
    known = laws()
    for name in names:
        if name not in known:
            raise UserError(f"experiment {name} tests no law; those that do: {', '.join(known)}")
    return [_law(name, results) for name in names or known]


def _law(name: str, results: Path) -> Law:
    experiment = read(name, PAPER)
    law, folder = experiment.law, experiment.folder(results)
    path = folder / CLAIMS
    judged = read_report(path).claims if path.exists() else ()
    return Law(
        experiment=name,
        name=law.name,
        formula=law.formula,
        from_memory=law.from_memory,
        paper=experiment.paper,
        checks=tuple(map(_check, judged)),
        seconds=seconds_of(folder) if judged else None,
        command=f"normexp reproduce {name} scale={PAPER}",
    )


def _check(claim: Mapping[str, Any]) -> Check:
    verdict, compare = claim["verdict"], str(claim.get("compare"))
    furthest = claim.get("law") or {}
    return Check(
        what=claim["text"],
        compare=compare,
        verdict=WORDS.get((compare, verdict), verdict),
        measured=furthest.get("measured"),
        predicted=furthest.get("predicted"),
        where=printable(str(furthest.get("where", ""))),
        evidence=claim["evidence"],
        own=compare == "follows" and claim["kind"] == "own",
        low=furthest.get("low"),
        high=furthest.get("high"),
        allowed=furthest.get("remainder"),
        identity=bool(furthest.get("identity")),
        unit=str(claim.get("unit", "")),
    )


def seconds_of(folder: Path) -> float:
    """Return how long all runs of an experiment at a scale took together."""
    return sum(float(run.status.get("seconds", 0.0)) for run in find_runs([folder]))


def as_json(found: Sequence[Law]) -> list[dict[str, Any]]:
    return [{**asdict(law), "verdict": law.verdict} for law in found]


def page(found: Sequence[Law]) -> Iterator[str]:
    """Yield the lines of the page."""
    measured = [law for law in found if law.checks]
    seconds = sum(law.seconds or 0.0 for law in measured)
    holding = sum(law.verdict == "holds" for law in measured)
    yield (
        f"{len(measured)} of {len(found)} laws measured at full scale in {seconds / 60:.0f} minutes of one thread, "
        f"waits for other work included; {holding} hold with every control."
    )
    for law in found:
        yield ""
        yield from _lines(law)


def _lines(law: Law) -> Iterator[str]:
    time = "" if law.seconds is None else f"  {law.seconds:.0f} s"
    yield f"{law.title}: {law.verdict}{time}  [{law.paper}]"
    yield f"    {law.formula}" + ("  (derived in the study)" if law.from_memory else "")
    for check in law.checks:
        yield from textwrap.wrap(
            f"{check.verdict}: {check.what}", WIDTH, initial_indent="    - ", subsequent_indent="      "
        )
        if check.words:
            yield f"      measured {check.words.in_a_line()}"
        elif check.compare not in ("follows", "leaves"):
            yield from textwrap.wrap(check.evidence, WIDTH, initial_indent="      ", subsequent_indent="      ")
    yield f"    {law.command}"
