"""The built site in a real browser, from disk: nothing fails, nothing is asked for, everybody can read it."""

from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SITE = TOP / "build" / "site"
OF_RESULTS = (  # what pages of results differ in: rows, folds, figures, pictures of a kind of their own
    "claims.html",
    "bench/layers-128x96x32x32-fp32.html",
    "conditioning_slides/paper/table.html",
    "ferreira2024_exercises/paper/table.html",
    "house_prices/cpu/table.html",
    "inference_cost/cpu/table.html",
    "ioffe2015_figure1/paper/table.html",
    "law_equilibrium/paper/table.html",
    "which_norm_small/cpu/summary.html",
    "which_norm_small/cpu/table.html",
    "xiong2020_warmup/cpu/sensitivity.html",
)
WRITTEN = sorted(str(page.relative_to(SITE)) for page in [*SITE.glob("docs/**/*.html"), *SITE.glob("*.html")])
KINDS = [page for page in WRITTEN if page != "index.html"] + [f"results/{page}" for page in OF_RESULTS]
PAGES = sorted(set(SITE.rglob("*.html")) - {SITE / "index.html"})  # that one goes elsewhere at once
PARTS = 8  # processes share the pages
PICTURES = "[...document.querySelectorAll('article img')].map((image) => image.naturalWidth)"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not SITE.is_dir(), reason="build/site is not there: scripts/test_site builds it"),
]


def figures_of(page: Path) -> int:
    """Return how many figures an experiment has; 0 for any other page."""
    return len(list((TOP / page.relative_to(SITE).parent).glob("*.svg"))) if page.name == "table.html" else 0


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_opens_on_a_phone_with_all_its_pictures(window, part):
    watched, faults = window("dark"), {}
    for page in PAGES[part::PARTS]:
        watched.open(page)
        shown = watched.page.evaluate(PICTURES)
        found = [*watched.wrong, *["scrolls sideways"] * watched.is_too_wide, *["no picture"] * shown.count(0)]
        found += ["figures are missing"] * (len(shown) < figures_of(page))
        watched.wrong.clear()
        if found:
            faults[str(page.relative_to(SITE))] = found
    assert faults == {}


def test_the_pages_have_figures_to_look_for():
    assert sum(map(figures_of, PAGES)) > 100


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", KINDS)
def test_axe_finds_no_barrier(window, page, theme):
    watched = window(theme).open(SITE / page)
    watched.unfold()
    assert not watched.is_too_wide
    assert watched.barriers == []


def test_first_page_leads_into_the_site_and_its_links_on(window):
    watched = window("light").open(SITE / "index.html")
    watched.page.wait_for_url("**/docs/index.html")
    watched.page.locator(".sidebar-tree a", has_text="Questions").first.click()
    watched.page.wait_for_url("**/docs/faq.html")
    assert watched.wrong == []


def test_menu_of_a_phone_opens(window):
    page = window("dark").open(SITE / "docs" / "faq.html").page
    link = page.locator(".sidebar-tree a").first
    assert page.evaluate("([x]) => x.getBoundingClientRect().right <= 0", [link.element_handle()])
    page.locator("label[for=__navigation]:visible").first.click()
    page.wait_for_function("(x) => x.getBoundingClientRect().left >= 0", arg=link.element_handle())


def test_search_finds_pages_from_disk(window):
    watched = window("light").open(SITE / "search.html", "?q=weight+decay")
    first = watched.page.locator("#search-results li a").first
    first.wait_for(timeout=30_000)
    first.click()
    watched.page.wait_for_url(lambda url: "search.html" not in url)
    assert "decay" in watched.page.inner_text("article")
    assert watched.wrong == []


def test_switch_between_light_and_dark(window):
    page = window("light").open(SITE / "docs" / "faq.html").page
    seen = set()
    for _ in range(3):
        page.locator(".theme-toggle:visible").first.click()
        theme = page.evaluate("document.body.dataset.theme")
        seen.add((theme, page.evaluate("getComputedStyle(document.body).backgroundColor")))
    colours = dict(seen)
    assert set(colours) == {"auto", "light", "dark"}
    assert colours["light"] == colours["auto"] != colours["dark"]
