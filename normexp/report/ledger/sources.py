"""The audit of the source documents: every printed number that an experiment checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, zip_longest
from pathlib import Path

from normexp.errors import unknown
from normexp.evidence.audit import BEST_FIRST, CITED, CORRECT, DEPENDS, DOCUMENTS, NUMBERS, WRONG, Audited, counted
from normexp.evidence.scales import SMOKE
from normexp.records import damaged, read_rows
from normexp.report.tables.formats import unguarded

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

    Those of a preview (scale smoke) are no records. Raises UserError for a file that is none of printed numbers.
    """
    found: dict[tuple[str, str, str, str, str], list[Audited]] = {}
    for path in sorted(each for each in results.glob(f"*/*/{NUMBERS}") if each.parent.name != SMOKE):
        command = f"normexp reproduce {path.parent.parent.name} scale={path.parent.name}"
        for row in read_rows(path):
            one = _checked(path, row)
            found.setdefault((one.document, command, one.place, one.quantity, one.printed), []).append(one)
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return _with_one_reading([Entry(key[1], tuple(readings)) for key, readings in ordered])


def _checked(path: Path, row: Mapping[str, str]) -> Audited:
    """Return a row of numbers.csv. Raises UserError for one that `normexp report` has not written."""
    cells = {key: unguarded(text) for key, text in row.items()}
    if list(cells) != [field.name for field in fields(Audited)]:
        raise damaged(path, "not the printed numbers of a document; `normexp report` writes it from the records")
    for key, allowed in (("document", DOCUMENTS), ("verdict", BEST_FIRST)):
        if cells[key] not in allowed:
            raise damaged(path, unknown(key, cells[key], allowed))
    return Audited(**cells)


def _with_one_reading(found: Sequence[Entry]) -> list[Entry]:
    """Give all numbers of a section the same reading: the one under which most of them are right."""
    chosen = {section: _best_reading(own) for section, own in by_section(found).items()}
    return [replace(entry, chosen=chosen[entry.section]) for entry in found]


def _best_reading(own: Sequence[Entry]) -> str | None:
    """Return the reading with the most right numbers; None where numbers share no reading."""
    counts = verdicts_by_reading(own)
    shared = {reading: count for reading, count in counts.items() if reading and count.total() > 1}
    return max(shared, key=lambda reading: shared[reading][CORRECT]) if len(shared) > 1 else None


def verdicts_by_reading(own: Sequence[Entry]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for each in (each for entry in own for each in entry.readings):
        counts.setdefault(each.reading, Counter())[each.verdict] += 1
    return counts


def by_section(found: Sequence[Entry]) -> dict[tuple[str, str], list[Entry]]:
    sections: dict[tuple[str, str], list[Entry]] = {}
    for entry in found:
        sections.setdefault(entry.section, []).append(entry)
    return sections


def summary(found: Sequence[Entry]) -> Iterator[str]:
    """Yield the ledger's section: counts per document, and what is not right."""
    if not found:
        return
    yield f"## {HEADING}"
    yield ""
    for document, own in by_document(found).items():
        yield f"- **{CITED[document]}**, {DOCUMENTS[document]}: {counted(each.verdict for each in own)}"
        for entry in own:
            if entry.verdict != CORRECT:
                yield f"  - {entry.verdict}: {_sentence(entry)} (`{entry.command}`)"
    yield ""


def by_document(found: Sequence[Entry]) -> dict[str, list[Entry]]:
    return {name: own for name in DOCUMENTS if (own := [entry for entry in found if entry.first.document == name])}


def _sentence(entry: Entry) -> str:
    one = entry.first
    text = f"{one.place}, {one.quantity}: printed {one.printed}, computed {entry.computed}"
    return f"{text}. {entry.remark}" if entry.remark else text
