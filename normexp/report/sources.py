"""The audit of the source documents: every printed number that an experiment checked, as Markdown for their authors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path

from normexp.evidence.audit import BEST_FIRST, CITED, CORRECT, DEPENDS, DOCUMENTS, NUMBERS, WRONG, Audited, counted
from normexp.experiments.load import names, read, scales
from normexp.experiments.tables import Published, PublishedOnly
from normexp.records import read_rows
from normexp.report.formats import in_cell, unguarded
from normexp.report.judged import PREVIEW, Report
from normexp.report.sentences import sentences

HEADING = "Printed numbers of the sources"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Entry:
    """One printed number or sentence, under every reading in which it was checked.

    Args:
        chosen: the reading that decides. Numbers that a document computes from one another share one. None leaves it
            open: what is right under one reading and wrong under another depends on the reading.
    """

    command: str
    readings: tuple[Audited, ...]
    chosen: str | None = None

    @property
    def first(self) -> Audited:
        return self.readings[0]

    @property
    def decisive(self) -> Audited:
        """The number under the reading that decides."""
        chosen = [each for each in self.readings if each.reading == self.chosen]
        return min(chosen or self.readings, key=lambda each: BEST_FIRST.index(each.verdict))

    @property
    def verdict(self) -> str:
        verdicts = {each.verdict for each in self.readings}
        return DEPENDS if self.chosen is None and {CORRECT, WRONG} <= verdicts else self.decisive.verdict

    @property
    def computed(self) -> str:
        """What we computed, once per value, with the readings that give it."""
        whole = ranged([each.shown for each in self.readings])
        if whole and not any(each.reading for each in self.readings):
            return whole
        readings: dict[str, list[str]] = {}
        for each in self.readings:
            readings.setdefault(each.shown, []).append(each.reading)
        return "; ".join(f"{shown} ({', '.join(by)})" if any(by) else shown for shown, by in readings.items())

    @property
    def remark(self) -> str:
        if self.verdict == DEPENDS:
            return "; ".join(f"{each.verdict} if {each.reading}" for each in self.readings)
        return self.decisive.remark

    @property
    def section(self) -> tuple[str, str]:
        """What this number shares its reading with: the experiment, and the first words of its place."""
        return self.command, self.first.place.partition(",")[0]


def ranged(texts: Sequence[str]) -> str:
    """Return sentences that differ in numbers alone as one, from the least to the largest; nothing for others."""
    words, *others = [NUMBER.split(text) for text in texts]
    if any(other != words for other in others):
        return ""
    numbers = zip(*map(NUMBER.findall, texts), strict=True)
    spans = [(min(each, key=float), max(each, key=float)) for each in numbers]
    said = [low if float(low) == float(high) else f"{low} to {high}" for low, high in spans]
    return "".join(chain.from_iterable(zip_longest(words, said, fillvalue="")))


def entries(results: Path) -> list[Entry]:
    """Return every checked number under results/NAME/SCALE, in the order of document, experiment and place.

    Those of a preview (scale smoke) are no records.
    """
    found: dict[tuple[str, str, str, str, str], list[Audited]] = {}
    for path in sorted(each for each in results.glob(f"*/*/{NUMBERS}") if each.parent.name != PREVIEW):
        command = f"normexp reproduce {path.parent.parent.name} scale={path.parent.name}"
        for row in read_rows(path):
            one = Audited(**{key: unguarded(text) for key, text in row.items()})
            found.setdefault((one.document, command, one.place, one.quantity, one.printed), []).append(one)
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return _with_one_reading([Entry(key[1], tuple(readings)) for key, readings in ordered])


def _with_one_reading(found: Sequence[Entry]) -> list[Entry]:
    """Give all numbers of a section the same reading: the one under which most of them are right."""
    chosen = {section: _best_reading(own) for section, own in _by_section(found).items()}
    return [replace(entry, chosen=chosen[entry.section]) for entry in found]


def _best_reading(own: Sequence[Entry]) -> str | None:
    """Return the reading with the most right numbers; None where numbers share no reading."""
    counts = _verdicts_by_reading(own)
    shared = {reading: count for reading, count in counts.items() if reading and count.total() > 1}
    return max(shared, key=lambda reading: shared[reading][CORRECT]) if len(shared) > 1 else None


def _verdicts_by_reading(own: Sequence[Entry]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for each in (each for entry in own for each in entry.readings):
        counts.setdefault(each.reading, Counter())[each.verdict] += 1
    return counts


def _by_section(found: Sequence[Entry]) -> dict[tuple[str, str], list[Entry]]:
    sections: dict[tuple[str, str], list[Entry]] = {}
    for entry in found:
        sections.setdefault(entry.section, []).append(entry)
    return sections


def slips(found: Sequence[Entry]) -> Iterator[str]:
    """Yield a sentence per section whose numbers follow from another reading than the document's own (the first)."""
    for (_, place), own in _by_section(found).items():
        counts = _verdicts_by_reading(own)
        stated = next(iter(counts))
        if own[0].chosen not in (None, stated):
            yield (
                f"The numbers of {place} are judged by {own[0].chosen}, from which most of them follow; "
                f"by {stated}, as the text says, {counts[stated][WRONG]} of {counts[stated].total()} are wrong."
            )


def summary(found: Sequence[Entry]) -> Iterator[str]:
    """Yield the ledger's section: counts per document, and what is not right."""
    if not found:
        return
    yield f"## {HEADING}"
    yield ""
    for document, own in _by_document(found).items():
        yield f"- **{CITED[document]}**, {DOCUMENTS[document]}: {counted(each.verdict for each in own)}"
        for entry in own:
            if entry.verdict != CORRECT:
                yield f"  - {entry.verdict}: {_sentence(entry)} (`{entry.command}`)"
    yield ""


def page(found: Sequence[Entry], reports: Sequence[Report] = ()) -> str:
    """Return docs/sources.md, with the claims of the ledger on what the documents say."""
    lines = [
        "# What the source documents print, checked",
        "",
        "normexp implements what five documents explain. Where a number that they print follows from their own inputs, "
        "or a sentence can be measured, a program of ours computes it again, and this page sets the two side by side. "
        "Results of other people's trainings that they quote are listed with the experiment that trains the same arms, "
        "and sentences that an experiment tests with the verdict that the ledger has. "
        "It is written with respect: worked examples are hard to typeset, most of what is printed is "
        "right, and the slips below change none of the ideas that the documents teach. Corrections of ours are "
        "welcome.",
        "",
        "A number is *correct* if the computed value rounds to the printed digits, *rounded wrongly* if it is less "
        "than one unit of the last printed digit away, and *wrong* otherwise. Where a document can be read in more "
        "than one way every reading is shown: numbers that are computed from one another are judged by one of them, "
        "and what is right under one and wrong under another *depends on the reading*. Where a document defines a "
        "scheme of *its own*, another program's is set beside it and no verdict is passed. This page is generated by "
        "`scripts/make_sources.py` from the records under `results/`; the command above each table makes its "
        "records again.",
        "",
    ]
    for document, own in _by_document(found).items():
        head = " ".join((f"{len(own)} checked: {counted(each.verdict for each in own)}.", *slips(own)))
        lines += [f"## {DOCUMENTS[document]}", "", head, ""]
        for command in dict.fromkeys(entry.command for entry in own):
            lines += _section(command, [entry for entry in own if entry.command == command])
        lines += [*_trainings(document), *sentences(document, reports)]
    return "\n".join(lines).rstrip() + "\n"


def _trainings(document: str) -> Iterator[str]:
    """Yield the results of trainings that a document quotes from the papers, and which experiment trains them."""
    quoted = list(quoted_results(document))
    if not quoted:
        return
    yield f"{len(quoted)} results of trainings, quoted from the papers. They do not follow from the document's own"
    yield "inputs, and the experiments train their arms at smaller scales, so that they are listed and not judged."
    yield from ("", "| experiment | arm | quantity | printed | place |", "| --- | --- | --- | ---: | --- |")
    for name, one in quoted:
        yield f"| `{name}` | {one.arm} | {_quantity(one)} | {one.value} | {one.place} |"
    yield ""


def _quantity(one: Published | PublishedOnly) -> str:
    return "steps to a target" if isinstance(one, Published) and one.target is not None else one.metric


def quoted_results(document: str) -> Iterator[tuple[str, Published | PublishedOnly]]:
    """Yield (experiment, published number) for all numbers of trainings that a document quotes."""
    for name in names():
        experiment = read(name, scales(name)[-1])
        quoted = [one for one in experiment.published if not (one.ours or one.said)]
        yield from ((name, one) for one in quoted if CITED[document] in one.place)
        yield from ((name, one) for one in experiment.published_only if CITED[document] in one.place)


def _by_document(found: Sequence[Entry]) -> dict[str, list[Entry]]:
    return {name: own for name in DOCUMENTS if (own := [entry for entry in found if entry.first.document == name])}


def _section(command: str, own: Sequence[Entry]) -> Iterator[str]:
    """Yield the entries of one experiment: what is not right in the open, what is right folded away."""
    right = [entry for entry in own if entry.verdict == CORRECT]
    rest = [entry for entry in own if entry.verdict != CORRECT]
    yield from (f"`{command}`", "")
    if rest:
        yield from (*_rows(rest), "")
    if right:
        yield from (f"<details><summary>{len(right)} correct</summary>", "", *_rows(right), "", "</details>", "")


def _rows(own: Sequence[Entry]) -> Iterator[str]:
    yield "| place | quantity | printed | computed | verdict | remark |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for entry in own:
        one = entry.first
        cells = (one.place, one.quantity, one.printed, entry.computed, entry.verdict, entry.remark)
        yield f"| {' | '.join(map(in_cell, cells))} |"


def _sentence(entry: Entry) -> str:
    one = entry.first
    text = f"{one.place}, {one.quantity}: printed {one.printed}, computed {entry.computed}"
    return f"{text}. {entry.remark}" if entry.remark else text
