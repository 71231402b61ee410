#!/usr/bin/env python
"""Write docs/sources.md from the printed numbers that the records under results/ checked."""

from pathlib import Path

from sources_document import page

from normexp.records import write_atomically
from normexp.report.ledger.judged import read_reports
from normexp.report.ledger.sources import entries

TOP = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    write_atomically(TOP / "docs" / "sources.md", page(entries(TOP / "results"), read_reports(TOP / "results")))
