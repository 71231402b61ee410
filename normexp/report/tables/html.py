"""A table as a page of HTML without a script, with the figures that lie beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from normexp.report import html
from normexp.report.links import html_links
from normexp.report.tables.table import Table

if TYPE_CHECKING:
    from normexp.report.figures.drawn import Drawn

_STYLE = (
    "body{font:14px/1.5 sans-serif;margin:2em;color:#222}div{overflow-x:auto}table{border-collapse:collapse;"
    "border:solid #222;border-width:1.5px 0}caption{text-align:left;padding-bottom:.6em;font-weight:bold}"
    "thead th{border-bottom:1px solid #222}th,td{padding:.2em .9em;text-align:right}tbody th{font-weight:normal}"
    "td{font-variant-numeric:tabular-nums}th.text,td.text{text-align:left}h1,h2{font-size:1em;margin:0}"
    "h2{margin-top:1em}p,figcaption{color:#555;margin:.4em 0;max-width:60em}figure{margin:1.5em 0}"
    "img{max-width:min(100%,640px)}code{font-size:.95em}"
)


def html_page(table: Table, figures: Sequence[Drawn] = (), further: Sequence[Table] = ()) -> str:
    """Return one page without a script: the table, pictures that lie beside it with their captions, further tables."""
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{html.text(table.title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        *_table(table, html.element("h1", html.text(table.title)), figures),
        *(line for each in further for line in _table(each, html.text(each.title))),
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _table(table: Table, caption: str, figures: Sequence[Drawn] = ()) -> list[str]:
    sides = ["text" if table.holds_text(i) else None for i in range(len(table.heads))]
    return [
        f"<div><table><caption>{caption}</caption>",
        f"<thead><tr>{''.join(map(html.head, table.heads, sides))}</tr></thead>",
        "<tbody>",
        *(html.row(line, sides) for line in table.rows),
        "</tbody></table></div>",
        *([f"<p>{html_links(html.text(table.source))}</p>"] if table.source else []),
        *map(_figure, figures),
        *_notes(table),
    ]


def _figure(figure: Drawn) -> str:
    source, title = quote(next(iter(figure.files))), html.text(figure.title)
    further = (
        f" {html.element('a', figure.beside[0], href=figure.beside[0])} {figure.beside[1]}." if figure.beside else ""
    )
    caption = html.element("figcaption", html.sentence(figure.caption) + further)
    return f'<figure><img src="{source}" alt="{title}" loading="lazy">{caption}</figure>'


def _notes(table: Table) -> Iterator[str]:
    for heading, notes in table.notes.items():
        if notes:
            yield from [html.element("h2", html.text(heading))] if heading else []
            yield from (html.element("p", html.sentence(note)) for note in notes)
