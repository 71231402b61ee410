"""A table as Markdown, CSV, LaTeX (booktabs) and HTML. Equal tables give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from normexp.errors import unknown
from normexp.records import plain_json
from normexp.report.links import markdown_links
from normexp.report.markdown import escaped, sentence
from normexp.report.tables.html import html_page
from normexp.report.tables.latex import latex
from normexp.report.tables.table import Table

_FORMULA = re.compile(r"[=+\-@\t\r]")


def markdown(table: Table) -> str:
    """Return the title, a pipe table that is aligned in its source, and the notes below their headings."""
    lines = [[escaped(text) for text in line] for line in (table.heads, *table.rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(table.heads))]
    rule = ["-" * width if table.holds_text(i) else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    padded = [[_pad(text, widths[i], table.holds_text(i)) for i, text in enumerate(line)] for line in lines]
    rows = [f"| {' | '.join(line)} |" for line in (padded[0], rule, *padded[1:])]
    title = f"{table.title} {table.source}".strip()
    return "\n".join([markdown_links(escaped(title)), "", *rows, *_markdown_notes(table)]) + "\n"


def csv_text(table: Table) -> str:
    """Return plain columns in full precision: accuracies are fractions, an empty cell is no value."""
    return csv_of(table.values)


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, in which no spreadsheet finds a formula."""
    import pandas as pd

    harmless = [{key: _harmless(value) for key, value in row.items()} for row in rows]
    return pd.DataFrame(harmless, dtype=object).rename(columns=_harmless).to_csv(index=False, lineterminator="\n")


def json_text(table: Table, *further: Table) -> str:
    """Return title, rows and notes as JSON; the rows are those of the CSV, the notes those of further tables, too."""
    notes = [note for each in (table, *further) for part in each.notes.values() for note in part]
    return plain_json({"title": table.title, "rows": list(table.values), "notes": notes})


FORMATS: dict[str, Callable[[Table], str]] = {"md": markdown, "csv": csv_text, "tex": latex, "html": html_page}
PRINTED = {**FORMATS, "json": json_text}  # by a command; JSON is no file beside a table


def check_printed(name: str) -> None:
    """Raise UserError for a format in which no table is printed."""
    if name not in PRINTED:
        raise unknown("table format", name, PRINTED)


def together(tables: Sequence[Table], format: str) -> str:
    """Return tables below each other: one page of HTML; CSV and JSON of the first alone, whose rows have all."""
    if format == "json":
        return json_text(*tables)
    if format == "html":
        return html_page(tables[0], further=tables[1:])
    return "\n".join(FORMATS[format](table) for table in (tables[:1] if format == "csv" else tables))


def _markdown_notes(table: Table) -> Iterator[str]:
    for heading, notes in table.notes.items():
        if notes:
            yield from ("", f"## {escaped(heading)}", "") if heading else ("",)
            yield from (f"- {sentence(note)}" for note in notes)


def _pad(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def _harmless(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula: text that begins like one gets an apostrophe."""
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def unguarded(text: str) -> str:
    """Return a cell of a CSV file as it was before `csv_text` kept spreadsheets from taking it for a formula."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text[1:]) else text
