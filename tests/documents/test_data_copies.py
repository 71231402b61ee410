"""A document that shows what was learned from a copy of CIFAR-10 says that it is a copy."""

import re
from pathlib import Path

import pytest

from tests.documents.evidence import RESULTS, TOP

COPY = "JPEG copy"
SHOWN = re.compile(r"results/(\w+/\w+)/\w+\.(?:png|svg)|<!-- table:results/(\w+/\w+)/|<!-- claim:(\w+/\w+) ")
DOCUMENTS = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]


def shown(text: str) -> set[str]:
    """Return the experiments, with their scale, of whose results there is a figure, a table or a claim."""
    return {place for match in SHOWN.finditer(text) for place in match.groups() if place}


def is_of_a_copy(place: str) -> bool:
    return COPY in (RESULTS / place / "table.md").read_text(encoding="utf-8").partition("## Deviations")[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_who_shows_results_of_a_copy_says_so(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    copies = sorted(place for place in shown(text) if is_of_a_copy(place))
    assert copies == [] or COPY in text, copies


def test_figures_tables_and_claims_of_copies_are_found() -> None:
    found = [shown(path.read_text(encoding="utf-8")) for path in DOCUMENTS]
    assert sum(any(map(is_of_a_copy, places)) for places in found) >= 6
    text = "![x](../results/a/cpu/b.png) <!-- table:results/c/desk/table.md --> <!-- claim:d/paper Text -->"
    assert shown(text) == {"a/cpu", "c/desk", "d/paper"}
