"""docs/laws.md: the laws for a student, a paragraph and a figure each, with the numbers of the records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from normexp.evidence.scales import PAPER
from normexp.experiments.experiment import Experiment
from normexp.experiments.load import read
from normexp.records.names import CLAIMS
from normexp.report.ledger.judged import read_report
from normexp.report.ledger.laws import Check, Law, read_laws, seconds_of

HEAD = """\
# Laws: what theory predicts exactly

Most claims about normalization are about accuracies, and need large networks to be tested. A few are formulas that
predict a number exactly, and a laptop can check them at full scale in minutes. Each section below has the formula,
what it means, a figure, and the verdicts of the records under `results/`. `normexp laws` prints this as one page,
`normexp reproduce --laws` measures it again, and `scripts/make_laws.py` writes this page from the records.

A law *follows* if at every point of its grid the interval of measured minus formula (a t interval over the seeds, 99 %
for all points together) contains 0, or reaches the remainder that the law allows, and is narrow enough to say so. It
*does not follow* if at some point the interval lies outside what is allowed, however little that is: a precise
measurement contradicts by a small difference, which a vague one does not. An identity has to hold to rounding in
every run. A *control* is a set of runs that violate an assumption of the law, and so have to deviate from it: a
*control leaves the law* if its interval lies outside somewhere, and a *control follows* if it does nowhere. The rows
have the point at which measurement and formula differ most in units of what is allowed (*where*): means over the
seeds, their difference with its interval, and the allowed remainder, to as many digits as the interval bears. A
law that is a bound predicts no number: the size of what is measured, here with its interval, is not to be above what is
allowed. Of an identity all numbers are those of the run furthest off, and what is allowed is its rounding.

All of them were measured again in November 2026, at dc199b0c and on another processor than most records of then.
Every verdict was the same but one, which stood at the edge: that, with batch normalization, less of a layer's
gradient survives the update of the layers below. Over five times the updates twenty fresh seeds found it, and
fourteen more, which are those of the records, leave it open. With fresh seeds, too, are least squares, the distance
of the weights, the largest stable rate, the residual stream and the noise of an update. The records of all laws are
of later commits than that."""
LONGEST = 4  # laws that are named as such

TABLES = ("mnist1d", "rezero_table", "online_fashion_mnist")  # published tables that small machines run at full scale
TABLES_HEAD = """\
## Tables at full scale

No formula predicts these results, but the set-ups are small enough to be run as they were published. Nearly every
scheme was also trained in MNIST-1D's convolutional network, for the authors' number of updates:
[mnist1d_schemes](../results/mnist1d_schemes/desk/summary.md)."""


def document(results: Path) -> str:
    """Return the page as Markdown; a law without records is named at the end."""
    found = read_laws(results)
    parts = [HEAD, *_time([law for law in found if law.checks])]
    parts += ["\n".join(_section(law)) for law in found if law.checks]
    tables = [name for name in TABLES if (results / name / PAPER / CLAIMS).exists()]
    parts += [TABLES_HEAD, *("\n".join(_table(name, results)) for name in tables)] if tables else []
    missing = [law for law in found if not law.checks]
    if missing:
        parts.append("## Not measured yet\n\n" + "\n".join(f"- {law.name}: `{law.command}`" for law in missing))
    return "\n\n".join(parts) + "\n"


def _time(laws: Sequence[Law]) -> Iterator[str]:
    """Say what the runs of all laws took, and which of them the most."""
    ordered = sorted(laws, key=lambda law: -(law.seconds or 0))
    if len(ordered) <= LONGEST:
        return
    minutes = [(law.seconds or 0) / 60 for law in ordered]
    named = "; ".join(f"{law.name} ({each:.0f})" for law, each in zip(ordered[:LONGEST], minutes, strict=False))
    yield (
        f"The runs of all laws took {sum(minutes):.0f} minutes on one thread each, some of them on machines that other "
        f"programs shared; most of it {named}. No other took more than {math.ceil(minutes[LONGEST])}."
    )


def _section(law: Law) -> Iterator[str]:
    experiment = read(law.experiment, PAPER)
    yield f"## {law.title}"
    yield ""
    yield f"    {law.formula}"
    yield ""
    memory = " The formula is derived in the study's docstring, not quoted." if law.from_memory else ""
    yield f"{' '.join(experiment.law.lesson.split())} [{law.paper}]{memory}"
    yield ""
    if experiment.law.tolerance:
        yield from (f"*Tolerance.* {' '.join(experiment.law.tolerance.split())}", "")
    yield _figure(experiment)
    yield ""
    yield from _checks(law.checks)
    yield from _findings(experiment)
    yield f"`{law.command}`, {law.seconds or 0:.0f} seconds of one thread."


def _table(name: str, results: Path) -> Iterator[str]:
    experiment = read(name, PAPER)
    yield f"### {experiment.title}"
    yield ""
    numbers = f"All numbers: [table](../results/{name}/{PAPER}/table.md)."
    yield f"{' '.join(experiment.about.split())} [{experiment.paper}] {numbers}"
    yield ""
    yield _figure(experiment)
    yield ""
    yield "| verdict | claim | evidence |\n| --- | --- | --- |"
    for claim in read_report(results / name / PAPER / CLAIMS).claims:
        yield f"| {claim['verdict']} | {claim['text']} | {claim['evidence']} |"
    yield ""
    yield from _findings(experiment)
    yield from (f"**Deviation.** {' '.join(deviation.split())}\n" for deviation in experiment.deviations)
    minutes = seconds_of(results / name / PAPER) / 60
    yield f"`normexp reproduce {name} scale={PAPER}`, {minutes:.0f} minutes of runs, one after the other."


def _figure(experiment: Experiment) -> str:
    """Return the experiment's first figure."""
    figure = experiment.figures[0]
    return f"![{figure.title or experiment.title}](../results/{experiment.name}/{PAPER}/{figure.name}.png)"


def _findings(experiment: Experiment) -> Iterator[str]:
    return (f"**Finding.** {' '.join(finding.split())}\n" for finding in experiment.findings)


def _checks(checks: Sequence[Check]) -> Iterator[str]:
    """Yield the table of what follows a formula and of what leaves it, then that of the other claims."""
    formulas = [check for check in checks if check.words]
    others = [check for check in checks if not check.words]
    heads = {
        "| verdict | claim | where | measured | formula | measured - formula [99 %] | allowed |": formulas,
        "| verdict | claim | evidence |": others,
    }
    for head, rows in heads.items():
        if rows:
            yield f"{head}\n|{' --- |' * (head.count('|') - 1)}"
            yield from map(_row, rows)
            yield ""


def _row(check: Check) -> str:
    said = check.words
    if said is None:
        return f"| {check.verdict} | {check.what} | {check.evidence} |"
    numbers = (said.measured, said.formula, said.difference, said.allowed)
    return f"| {check.verdict} | {check.what} | {said.where} | {' | '.join(numbers)} |"
