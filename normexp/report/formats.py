"""A table as Markdown, CSV, LaTeX (booktabs) and HTML. Equal tables give equal bytes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from normexp.records import plain_json
from normexp.report.latex import latex
from normexp.report.links import html_links, markdown_links
from normexp.report.table import Table, one_line

if TYPE_CHECKING:
    from normexp.report.figures.drawn import Drawn

_ANYWHERE = r"[\\*`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[(\[])|&(?=#?\w+;)"  # the last: of a link, an entity
_MARKUP = re.compile(rf"([|<>]|{_ANYWHERE})")
_IN_PROSE = re.compile(rf"(<(?=[A-Za-z/!?])|{_ANYWHERE})")
_FORMULA = re.compile(r"[=+\-@\t\r]")
_STYLE = (
    "body{font:14px/1.5 sans-serif;margin:2em;color:#222}div{overflow-x:auto}table{border-collapse:collapse;"
    "border:solid #222;border-width:1.5px 0}caption{text-align:left;padding-bottom:.6em;font-weight:bold}"
    "th{border-bottom:1px solid #222}th,td{padding:.2em .9em;text-align:right}"
    "td{font-variant-numeric:tabular-nums}.text{text-align:left}h2{font-size:1em;margin:1em 0 0}"
    "p,figcaption{color:#555;margin:.4em 0;max-width:60em}figure{margin:1.5em 0}img{max-width:min(100%,640px)}"
)


def markdown(table: Table) -> str:
    """Return the title, a pipe table that is aligned in its source, and the notes below their headings."""
    lines = [[escaped(text) for text in line] for line in (table.heads, *table.rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(table.heads))]
    left = table.texts
    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    padded = [[_pad(text, widths[i], i < left) for i, text in enumerate(line)] for line in lines]
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


def html_page(table: Table, figures: Sequence[Drawn] = (), further: Sequence[Table] = ()) -> str:
    """Return one page without a script: the table, pictures that lie beside it with their captions, further tables."""
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{html.escape(table.title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        *_html_table(table, figures),
        *(line for each in further for line in _html_table(each)),
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {"md": markdown, "csv": csv_text, "tex": latex, "html": html_page}
PRINTED = {**FORMATS, "json": json_text}  # by a command; JSON is no file beside a table


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
            yield from (f"- {_sentence(note)}" for note in notes)


def _html_table(table: Table, figures: Sequence[Drawn] = ()) -> list[str]:
    return [
        f"<div><table><caption>{html.escape(table.title)}</caption>",
        f"<thead>{_html_row('th', table.heads, table.texts)}</thead>",
        "<tbody>",
        *(_html_row("td", line, table.texts) for line in table.rows),
        "</tbody></table></div>",
        *([f"<p>{html_links(html.escape(table.source))}</p>"] if table.source else []),
        *map(_html_figure, figures),
        *_html_notes(table),
    ]


def _html_figure(figure: Drawn) -> str:
    source, title = html.escape(next(iter(figure.files))), html.escape(figure.title)
    caption = f"<figcaption>{html.escape(figure.caption)}</figcaption>"
    return f'<figure><img src="{source}" alt="{title}" loading="lazy">{caption}</figure>'


def _html_notes(table: Table) -> Iterator[str]:
    for heading, notes in table.notes.items():
        if notes:
            yield from [f"<h2>{html.escape(heading)}</h2>"] if heading else []
            yield from (f"<p>{html.escape(note)}</p>" for note in notes)


def _pad(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def escaped(text: str) -> str:
    """Escape what Markdown would read as markup; an underscore inside a word is none, a line break is a space."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def prose(text: str) -> str:
    """Escape what would be more than words in a line that is no table, except for the commands in it: `code`."""
    return _sentence(text, _IN_PROSE)


def _sentence(text: str, markup: re.Pattern[str] = _MARKUP) -> str:
    """Escape a sentence, except for the commands in it: `code`."""
    return "".join(
        part if part.startswith("`") and part.endswith("`") and part[1:] else markup.sub(r"\\\1", part)
        for part in re.split(r"(`[^`]+`)", one_line(text))
    )


def _html_row(tag: str, line: Sequence[str], left: int) -> str:
    kinds = [' class="text"' if i < left else "" for i in range(len(line))]
    cells = (f"<{tag}{kind}>{html.escape(text)}</{tag}>" for kind, text in zip(kinds, line, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


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
