"""The documents: links lead somewhere, and what they quote is what results/ has."""

import re
from pathlib import Path
from typing import Any

import make_performance as performance
import pytest
import quote_results

from normexp.config.options import groups, options
from normexp.norms.base import Norm

TOP = Path(__file__).parent.parent
DOCUMENTS = (*sorted(TOP.glob("*.md")), *sorted((TOP / "docs").glob("*.md")))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
NAMED = re.compile(r"`((?:tests|scripts|normexp)/[\w/]+\.\w+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    broken = [link for link in LINK.findall(document.read_text()) if not (document.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(document: Path) -> None:
    named = [] if document.name == "CHANGELOG.md" else NAMED.findall(document.read_text())
    assert [path for path in named if "NAME" not in path and not (TOP / path).exists()] == []


def test_what_documents_quote_is_in_results() -> None:
    assert set(quote_results.DOCUMENTS) < set(DOCUMENTS)
    reports, count = quote_results.judged(), 0
    for document in quote_results.DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        assert quote_results.filled(document, text, reports) == text, "run python scripts/quote_results.py"
        count += len(quote_results.BLOCK.findall(text))
    assert count > 30
    with pytest.raises(ValueError, match=r"faq.md: 0 claims of ba2016_figure6/cpu begin with 'Nobody claims'"):
        quote_results.filled(
            TOP / "docs" / "faq.md", "<!-- claim:ba2016_figure6/cpu Nobody claims -->\n<!-- /claim -->", reports
        )


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
    assert "<!-- table:" in readme


@pytest.mark.parametrize(
    "named",
    [
        "--config",
        "--like",
        "normexp diff",
        "normexp new experiment",
        "docs/experiments.md",
        "docs/own_parts.md",
        "load_model",
    ],
)
def test_readme_says_how_ones_own_things_are_brought(named: str) -> None:
    assert named in (TOP / "README.md").read_text()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md", "docs/own_scheme.md"])
def test_what_is_said_of_a_schemes_hooks_names_all_of_them(page: str) -> None:
    text = (TOP / page).read_text()
    hooks = {name for name, each in vars(Norm).items() if callable(each) and not name.startswith("_")} - {"block"}
    assert {hook for hook in hooks if f"`{hook}`" not in text} == set()


def test_the_architecture_names_every_folder_of_tests_and_what_they_share() -> None:
    text, tests, parts = (TOP / "docs" / "architecture.md").read_text(), TOP / "tests", TOP / "normexp"
    shared = {path.name for path in tests.glob("*.py") if not path.stem.startswith(("test_", "conftest"))}
    folders = {f"{path.name}/" for path in tests.iterdir() if path.is_dir() and any(path.glob("*.*"))}
    own = {name for name in folders if not (parts / name).is_dir()}
    assert {name for name in shared | own if f"`{name}`" not in text} == set()


def test_the_architecture_names_every_room_and_only_files_that_there_are() -> None:
    text, parts = (TOP / "docs" / "architecture.md").read_text(), TOP / "normexp"
    rooms = {path.name for path in parts.rglob("[!_]*") if path.is_dir() and any(path.glob("*.*"))}
    assert {name for name in rooms if not re.search(rf"(?<!\w){name}/", text)} == set()
    files = re.findall(r"`([\w/]+/\w+\.pyi?)`", text)
    assert len(files) > 15
    assert [name for name in files if not ((TOP / name).exists() or (parts / name).exists())] == []


@pytest.mark.parametrize(("name", "least"), [("performance.md", 11), ("scale.md", 2)])
def test_tables_of_the_measured_pages_are_the_measurements(name: str, least: int) -> None:
    page = (TOP / "docs" / name).read_text(encoding="utf-8")
    assert page.count("<!-- bench:") >= least
    assert performance.filled(page) == page, "run scripts/make_performance.py"


def test_what_stays_slow_is_printed_with_what_its_operators_do() -> None:
    counts = {
        "moved": {"batch": 5.1, "slow": 27.3},
        "operators": {"batch": 3, "slow": 70},
        "flops": {"batch": 0.0, "slow": 160.6},
    }
    before: dict[str, Any] = {}  # a record from before anything was counted
    slow = {"maps, fp32": ["`slow`"], "maps, bf16": ["`slow`"]}
    head, *rows = performance.reasons(slow, {"maps, fp32": counts, "maps, bf16": before})
    assert "passes" in head
    assert rows == ["| batch | maps, fp32 | 5 | 3 | 0 |", "| slow | maps, fp32 | 27 | 70 | 161 |"]
    assert not list(performance.reasons({"maps, fp32": ["`slow`"]}, {"maps, fp32": before}))
