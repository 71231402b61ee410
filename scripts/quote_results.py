#!/usr/bin/env python
"""Write into README and docs what they quote of results/: tables and single claims, each between two comments.

python scripts/quote_results.py

`<!-- table:results/NAME/SCALE/FILE.md -->` takes the rows of a table, `<!-- claim:NAME/SCALE TEXT -->` the one claim
that begins with TEXT: its verdict, estimate and interval. What stands between it and its closing comment is replaced.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from normexp.records import write_atomically
from normexp.report.ledger.claims import claim_line
from normexp.report.ledger.judged import Judged, read_reports
from normexp.report.links import markdown_links

TOP = Path(__file__).resolve().parent.parent
DOCUMENTS = (TOP / "README.md", *sorted((TOP / "docs").glob("*.md")))
BLOCK = re.compile(r"<!-- (table|claim):(\S+)(?: ([^\n]+?))? -->\n(?:.*?)<!-- /\1 -->", re.DOTALL)
Reports = Mapping[str, tuple[Judged, ...]]


def judged() -> Reports:
    """Return NAME/SCALE -> the judged claims."""
    return {f"{each.experiment}/{each.scale}": each.claims for each in read_reports(TOP / "results")}


def filled(document: Path, text: str, reports: Reports) -> str:
    """Return the text of a document with every block made anew. Raises ValueError where a claim is none, or several."""

    def block(found: re.Match[str]) -> str:
        kind, place, beginning = found.groups()
        body = rows(place) if kind == "table" else quoted(document, reports, place, beginning)
        head = " ".join(filter(None, (f"{kind}:{place}", beginning)))
        return f"<!-- {head} -->\n{body}\n<!-- /{kind} -->"

    return BLOCK.sub(block, text)


def rows(path: str) -> str:
    lines = (TOP / path).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))


def quoted(document: Path, reports: Reports, place: str, beginning: str) -> str:
    """Return the claim as a quotation that links to its table."""
    found = [claim for claim in reports.get(place, ()) if claim["text"].startswith(beginning)]
    if len(found) != 1:
        raise ValueError(f"{document.name}: {len(found)} claims of {place} begin with {beginning!r}, not one")
    results = "../results" if document.parent.name == "docs" else "results"
    line = claim_line(found[0]).removeprefix("- ")
    return markdown_links(f"> {line} [{place.partition('/')[0]}]({results}/{place}/table.md)")


if __name__ == "__main__":
    reports = judged()
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        if (new := filled(document, text, reports)) != text:
            write_atomically(document, new)
