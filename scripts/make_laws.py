#!/usr/bin/env python
"""Write docs/laws.md: every law in a paragraph, with its figure and the numbers of the records under results/."""

from pathlib import Path

from laws_document import document

from normexp.records import write_atomically

TOP = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    write_atomically(TOP / "docs" / "laws.md", document(TOP / "results"))
