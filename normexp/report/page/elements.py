"""Parts of a page that the tables of a report do not have: sortable, folded, with the badge of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from normexp.report.html import element, folded, head, listing, row, sentence, text
from normexp.report.ledger.judged import VERDICTS, shown_verdict
from normexp.report.tables.table import Table

FINDINGS = "Findings"


def table(content: Table) -> str:
    """Return a table whose columns the page's script can sort."""
    sides = ["text" if content.holds_text(i) else "number" for i in range(len(content.heads))]
    heads, rows = map(head, content.heads, sides), (row(each, sides) for each in content.rows)
    caption = element("caption", element("span", text(content.title)))
    return _wide(caption, heads, rows, f"Table: {content.title}")


def findings(content: Table) -> str:
    """Return what was found, which a reader wants first; nothing where nothing is said."""
    found = content.notes.get(FINDINGS, [])
    return element("div", element("h3", FINDINGS) + listing(found), class_="findings") if found else ""


def notes(content: Table) -> str:
    """Return the other notes of a table below their headings, folded."""
    found = [(heading or "Notes", each) for heading, each in content.notes.items() if each and heading != FINDINGS]
    return "".join(folded(f"{heading} ({len(each)})", listing(each)) for heading, each in found)


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
