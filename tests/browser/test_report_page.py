"""The report's page in a real browser, from disk: it works, asks for nothing, and everybody can read it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "results"
EXPERIMENTS = ("digits_five_schemes", "house_prices")  # curves; heat maps
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    from normexp.report.ledger import report_all

    folder = tmp_path_factory.mktemp("page") / "results"
    for name in EXPERIMENTS:
        shutil.copytree(RESULTS / name, folder / name)
    *_, page = report_all([*EXPERIMENTS, f"results_dir={folder}"])
    return page


def test_table_sorts_and_curves_open(report, window):
    watched = window("light").open(report)
    table = watched.page.locator("#digits_five_schemes-cpu table.sortable").first
    first = table.locator("tbody tr").first
    button = table.locator("th button").nth(1)
    button.click()
    low = first.text_content()
    button.click()
    assert (low.startswith("none"), first.text_content().startswith("batch")) == (True, True)
    watched.page.locator(".viewer > button").first.click()
    assert watched.page.locator(".viewer canvas").count() == 1
    watched.page.locator(".viewer input[type=checkbox]").nth(1).check()
    assert watched.wrong == []


def test_scale_of_colours_of_a_heat_map_is_shown(report, window):
    """Matplotlib makes it a picture inside the figure, which a strict policy takes for something fetched."""
    watched = window("light").open(report)
    assert watched.page.locator("svg image").count() > 0
    assert watched.wrong == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_barrier_in_the_page_with_everything_open(report, window, theme):
    watched = window(theme).open(report)
    watched.page.locator(".viewer > button").first.click()
    watched.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert not watched.is_too_wide
    assert watched.barriers == []
