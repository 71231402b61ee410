"""Every committed table was made at commits of this history: whoever doubts a number can check its code out."""

import re
import subprocess

import pytest

from tests.documents.evidence import RESULTS, TOP

MADE_BY = re.compile(r"^- Made by `normexp .*`, commit (.*)\.$", re.MULTILINE)


def git(*words: str) -> str:
    found = subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else ""


@pytest.fixture(scope="module")
def history() -> list[str]:
    """The commits of this checkout, of which a table gives the beginnings."""
    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        pytest.skip("no checkout with its whole history")
    return git("rev-list", "HEAD").split()


def test_tables_are_of_commits_that_can_be_checked_out(history: list[str]) -> None:
    """One with `+` had local changes, which nobody else has."""
    tables = {path: MADE_BY.findall(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*/*/table.md")}
    assert len(tables) > 60
    assert [path for path, made in tables.items() if len(made) != 1] == []
    lost = {
        path
        for path, (made,) in tables.items()
        for commit in made.split(", ")
        if not any(each.startswith(commit) for each in history)
    }
    assert lost == set()
