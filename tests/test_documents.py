"""The documents: links lead somewhere, and a quoted table is the one in results/."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from normexp.config.options import groups, options

TOP = Path(__file__).parent.parent
DOCUMENTS = (*sorted(TOP.glob("*.md")), *sorted((TOP / "docs").glob("*.md")))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
NAMED = re.compile(r"`((?:tests|scripts|normexp)/[\w/]+\.\w+)")
QUOTED = re.compile(r"<!-- table:(results/\S+) -->\n(.*?)<!-- /table -->", re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    broken = [link for link in LINK.findall(document.read_text()) if not (document.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(document: Path) -> None:
    named = [] if document.name == "CHANGELOG.md" else NAMED.findall(document.read_text())
    assert [path for path in named if "NAME" not in path and not (TOP / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_quoted_tables_are_those_in_results(document: Path) -> None:
    for path, quoted in QUOTED.findall(document.read_text()):
        rows = [line for line in (TOP / path).read_text().splitlines() if line.startswith("|")]
        assert quoted.splitlines() == rows, path


def test_every_page_has_a_place_in_the_site() -> None:
    places = (TOP / "docs" / "index.md").read_text().split()
    assert [path.stem for path in DOCUMENTS if path.parent.name == "docs" and path.stem not in (*places, "index")] == []


def test_the_table_of_groups_has_every_option_or_says_that_there_are_more() -> None:
    page = (TOP / "docs" / "runs.md").read_text()
    rows = {
        group: row for group, row in re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE) if group in groups()
    }
    assert tuple(rows) == groups()
    for group, row in rows.items():
        named = set(re.findall(r"`(\w+)`", row))
        assert named < set(options(group)) if " more " in row else named == set(options(group)), group


def test_readme_is_short_and_shows_a_picture_and_a_table() -> None:
    readme = (TOP / "README.md").read_text()
    assert readme.count("\n") < 200
    assert readme.index("![") < readme.index("## Quick start") < readme.index("## Three answers")
    assert QUOTED.search(readme)


@pytest.mark.parametrize(("name", "least"), [("performance.md", 11), ("scale.md", 2)])
def test_tables_of_the_measured_pages_are_the_measurements(name: str, least: int) -> None:
    path = TOP / "scripts" / "make_performance.py"
    spec = importlib.util.spec_from_file_location("make_performance", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (TOP / "docs" / name).read_text(encoding="utf-8")
    assert page.count("<!-- bench:") >= least
    assert module.filled(page) == page, "run scripts/make_performance.py"
