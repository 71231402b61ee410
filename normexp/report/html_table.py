"""A table as a page of HTML without a script, with the figures that lie beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from normexp.report.links import html_links
from normexp.report.table import Table

if TYPE_CHECKING:
    from normexp.report.figures.drawn import Drawn

_STYLE = (
    "body{font:14px/1.5 sans-serif;margin:2em;color:#222}div{overflow-x:auto}table{border-collapse:collapse;"
    "border:solid #222;border-width:1.5px 0}caption{text-align:left;padding-bottom:.6em;font-weight:bold}"
    "th{border-bottom:1px solid #222}th,td{padding:.2em .9em;text-align:right}"
    "td{font-variant-numeric:tabular-nums}.text{text-align:left}h2{font-size:1em;margin:1em 0 0}"
    "p,figcaption{color:#555;margin:.4em 0;max-width:60em}figure{margin:1.5em 0}img{max-width:min(100%,640px)}"
)


def html_page(table: Table, figures: Sequence[Drawn] = (), further: Sequence[Table] = ()) -> str:
    """Return one page without a script: the table, pictures that lie beside it with their captions, further tables."""
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(table.title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        *_table(table, figures),
        *(line for each in further for line in _table(each)),
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _table(table: Table, figures: Sequence[Drawn] = ()) -> list[str]:
    return [
        f"<div><table><caption>{escape(table.title)}</caption>",
        f"<thead>{_row('th', table.heads, table)}</thead>",
        "<tbody>",
        *(_row("td", line, table) for line in table.rows),
        "</tbody></table></div>",
        *([f"<p>{html_links(escape(table.source))}</p>"] if table.source else []),
        *map(_figure, figures),
        *_notes(table),
    ]


def _figure(figure: Drawn) -> str:
    source, title = escape(next(iter(figure.files))), escape(figure.title)
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>"
    return f'<figure><img src="{source}" alt="{title}" loading="lazy">{caption}</figure>'


def _notes(table: Table) -> Iterator[str]:
    for heading, notes in table.notes.items():
        if notes:
            yield from [f"<h2>{escape(heading)}</h2>"] if heading else []
            yield from (f"<p>{escape(note)}</p>" for note in notes)


def _row(tag: str, line: Sequence[str], table: Table) -> str:
    kinds = [' class="text"' if table.holds_text(i) else "" for i in range(len(line))]
    cells = (f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, line, strict=True))
    return f"<tr>{''.join(cells)}</tr>"
