"""Parts of a page as HTML. Every text that comes from a record, a YAML or a path is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from normexp.report.ledger.judged import VERDICTS, shown_verdict
from normexp.report.table import Table, one_line


def text(value: object) -> str:
    """Return text for the inside of an element or a quoted attribute."""
    return escape(one_line(str(value)))


def element(tag: str, inside: str, **attributes: object) -> str:
    """Return an element; `class_` stands for class, other underscores for hyphens; None is left out; inside is HTML."""
    given = {key: value for key, value in attributes.items() if value is not None}
    words = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in given.items())
    return f"<{tag}{words}>{inside}</{tag}>"


def sentence(value: str) -> str:
    """Return a sentence in which `commands` are set as code."""
    parts = re.split(r"`([^`]+)`", one_line(value))
    return "".join(element("code", text(part)) if i % 2 else escape(part) for i, part in enumerate(parts))


def listing(sentences: Iterable[str]) -> str:
    return element("ul", "".join(element("li", sentence(each)) for each in sentences))


def table(content: Table) -> str:
    """Return a table whose columns the page's script can sort."""
    sides = ["text" if content.holds_text(i) else "number" for i in range(len(content.heads))]
    heads, rows = map(head, content.heads, sides), (row(each, sides) for each in content.rows)
    return _wide(element("caption", text(content.title)), heads, rows, f"Table: {content.title}")


def notes(content: Table) -> str:
    """Return the notes of a table below their headings; long ones are folded."""
    found = [(heading or "Notes", each) for heading, each in content.notes.items() if each]
    return "".join(folded(f"{heading} ({len(each)})", listing(each)) for heading, each in found)


def folded(summary: str, inside: str) -> str:
    return element("details", element("summary", text(summary)) + inside)


def claim(entry: Mapping[str, Any]) -> str:
    """Return one judged claim: verdict, sentence, evidence and source."""
    kind = entry["verdict"] if entry["verdict"] in VERDICTS else "preview"  # names a class in the style
    badge = element("span", text(shown_verdict(entry)), class_=f"badge {kind}")
    said = [entry["evidence"], f"kind: {entry['kind']}", entry["source"], *entry["remarks"], *entry["changed"]]
    return element("li", f"{badge} {sentence(entry['text'])}{folded('Evidence', listing(said))}")


def plain_rows(heads: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """Return a table of texts."""
    return _wide("", (head(each, "text") for each in heads), (row(each, ["text"] * len(heads)) for each in rows), label)


def _wide(caption: str, heads: Iterable[str], rows: Iterable[str], label: str) -> str:
    """Return a table that scrolls by itself where the page is narrow."""
    body = f"{caption}<thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(rows)}</tbody>"
    inside = element("table", body, class_="sortable")
    return element("div", inside, class_="wide", tabindex=0, role="group", aria_label=label)


def head(words: str, side: str | None) -> str:
    """Return the head of a column; the side, to which its cells are set, is a class of the style."""
    return element("th", text(words), scope="col", class_=side)


def row(cells: Sequence[str], sides: Sequence[str | None]) -> str:
    """Return a row, whose first cell is its head."""
    first = element("th", text(cells[0]), scope="row", class_="text")
    others = (element("td", text(cell), class_=side) for cell, side in zip(cells[1:], sides[1:], strict=True))
    return f"<tr>{first}{''.join(others)}</tr>"
