"""A table before it is Markdown, CSV, LaTeX or HTML; `normexp.report.tables.formats` writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from normexp.records import printable

Value = str | int | float | None
EMPTY = "-"  # the cell of what a row does not have


@dataclass(frozen=True)
class Table:
    """Rows of text, and the same rows as plain values.

    Args:
        title: one short sentence; the caption in LaTeX.
        source: whose table it is and where it is printed; a sentence, or nothing.
        label: of the LaTeX table, tab:LABEL.
        heads: of the columns; the first `texts` columns and those of `remarks` hold text, the others numbers.
        rows: as people read them: rounded, with their deviations.
        values: as programs read them, in full precision: column of the CSV -> one value per row.
        notes: heading -> sentences that belong to the table; the heading may be empty.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    values: Sequence[Mapping[str, Value]] = ()
    texts: int = 1
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    source: str = ""
    label: str = "runs"
    remarks: Sequence[str] = ()

    def holds_text(self, column: int) -> bool:
        return column < self.texts or self.heads[column] in self.remarks


def one_line(text: str) -> str:
    """Return text on one line, without anything that a terminal would obey."""
    return printable(" ".join(text.split()), most=len(text))
