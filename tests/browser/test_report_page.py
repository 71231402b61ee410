"""The report's page in a real browser, from disk: it works, asks for nothing, and everybody can read it."""

import shutil
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "results"
EXPERIMENTS = ("digits_five_schemes", "house_prices")  # curves; heat maps
OWN_PAGES = {  # where one page of all would be too large
    "digits_five_schemes": "cpu",
    "covariate_shift": "cpu",
    "ferreira2024_exercises": "paper",
    "law_decay_rate": "paper",
    "inference_cost": "cpu",
    "xiong2020_warmup": "cpu",
}
pytestmark = pytest.mark.browser


def copied(folder: Path, names) -> Path:
    for name in names:
        shutil.copytree(RESULTS / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    from normexp.report.commands.experiments import report_all

    folder = copied(tmp_path_factory.mktemp("page") / "results", EXPERIMENTS)
    *_, page = report_all([*EXPERIMENTS, f"results_dir={folder}"])
    return page


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The folder of results in which every experiment has a page of its own, and report.html leads to them."""
    from normexp.report.commands.experiments import report_all
    from normexp.report.page import write

    folder = copied(tmp_path_factory.mktemp("pages") / "results", OWN_PAGES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "MOST", 0)
        list(report_all([*OWN_PAGES, f"results_dir={folder}"]))
    return folder


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
    watched.page.locator(".viewer").first.get_by_label("single runs").check()
    assert watched.wrong == []


def test_numbers_with_a_common_exponent_sort_by_size(report, window):
    watched = window("light").open(report)
    table = watched.page.locator("#digits_five_schemes-cpu table.sortable").first
    table.locator("th button", has_text="train loss").click()
    arms = [row.text_content() for row in table.locator("tbody th").all()]
    assert arms == ["weight_mean_only", "layer", "batch", "group", "none"]  # 1.7e-4, 5.72e-4, ..., 0.0025


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("31.0e6", 31e6), ("33.1 ± 2.4", 33.1), ("(5.84 ± 0.99)e-04", 5.84e-4), ("(-3.2 ± 4.1)e-04", -3.2e-4)],
        *[("(3.8 ± 2.8)e-16 (2 of 5 finite)", 3.8e-16), ("18000 ± 6600 (19 of 20 finite)", 18000), ("7.47%", 7.47)],
        *[("2.000000 ± 4.2e-08", 2), ("171 (152 to 228)", 171), ("-1.0 [-11.0, +∞] by rank", -1), ("~.972", 0.972)],
        *[
            ("at most 0.1", 0.1),
            ("slower: below 0.983", 0.983),
            ("faster: above 1.2", 1.2),
            ("step 10000", 10000),
            ("5/5", 5),
        ],
        *[("never in 1500", None), ("never (2500 to never), 1 of 3 arrive", None), ("-", None), ("diverged", None)],
    ],
)
def test_cells_of_tables_sort_by_their_numbers(report, window, text, number):
    found = window("light").open(report).page.evaluate("numberIn", text)
    assert (None if found != found else found) == (number if number is None else pytest.approx(number, rel=1e-12))


def test_what_is_no_number_comes_last_in_either_order(report, window):
    cells = ["3.1 ± 0.2", "-", "0.5", "diverged", "12"]
    sort = "([cells, sign]) => cells.sort((a, b) => compare(a, b, sign))"
    page = window("light").open(report).page
    up, down = (page.evaluate(sort, [cells, sign]) for sign in (1, -1))
    assert (up[:3], down[:3]) == (["0.5", "3.1 ± 0.2", "12"], ["12", "3.1 ± 0.2", "0.5"])


def test_the_focus_goes_into_the_curves_that_open(report, window):
    """The button that had it is gone."""
    page = window("light").open(report).page
    button = page.locator(".viewer > button").first
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.viewer select')")


RACE = {  # two arms, three seeds each, one of which diverged
    "metrics": ["train loss"],
    "arms": ["plain", "normed"],
    "styles": [["#000000", []], ["#0072B2", []]],
    "steps": [[0, 10, 20]],
    "series": [[arm, seed, 0, int((arm, seed) == (0, 2)), [[3, 2, 1 + arm]]] for seed in range(3) for arm in range(2)],
}


def test_legend_of_single_runs_has_the_means_and_what_diverged(report, window):
    watched = window("light").open(report)
    watched.page.evaluate("(data) => openViewer(document.querySelector('.viewer'), data)", RACE)
    watched.page.locator(".viewer").first.get_by_label("single runs").check()
    shown = [row.inner_text().strip() for row in watched.page.locator(".viewer").first.locator(".u-legend th").all()]
    assert shown == ["step", "plain (mean of 3, 1 diverged)", "plain, seed 2, diverged", "normed (mean of 3)"]
    over = watched.page.locator(".viewer").first.locator(".u-over")
    over.hover()
    values = watched.page.locator(".viewer").first.locator(".u-legend td").all_inner_texts()
    assert values == ["10", "2", "2", "2"]
    assert watched.wrong == []


def test_mean_of_an_arm_goes_on_where_a_run_of_it_diverged(report, window):
    """As in the figures: over the others, and without the steps that one of them lacks."""
    series = [[0, 0, 0, 0, [[4, 3, 2, 1]]], [0, 1, 0, 0, [[6, 5, 4, 3]]], [0, 2, 1, 1, [[8, 7, 9, None]]]]
    data = {**RACE, "arms": ["plain"], "steps": [[0, 10, 20, 30], [0, 10, 15, 20]], "series": series}
    page = window("light").open(report).page
    assert page.evaluate("(data) => [...linesOf(data, 0, 0).mean]", data) == [[0, 6], [10, 5], [20, 3], [30, 2]]


def test_steps_may_be_logarithmic(report, window):
    """The cursor in the middle is at another step then; step 0 has no place."""
    watched = window("light").open(report)
    series = [[arm, 0, 0, 0, [[4, 3, 2, 1, 0.5]]] for arm in range(2)]
    data = {**RACE, "steps": [[0, 1, 10, 100, 1000]], "series": series}
    watched.page.evaluate("(data) => openViewer(document.querySelector('.viewer'), data)", data)
    viewer = watched.page.locator(".viewer").first
    steps = []
    for check in (lambda: None, viewer.get_by_label("logarithmic steps").check):
        check()
        viewer.locator(".u-over").hover()
        steps.append(viewer.locator(".u-legend td").first.inner_text())
    assert steps == ["100", "10"]
    viewer.get_by_label("logarithmic", exact=True).check()
    assert watched.wrong == []


def test_a_part_of_the_curves_is_enlarged_as_the_page_says(report, window):
    """The middle of the plot is at another step once its right half was dragged over."""
    page = window("light").open(report).page
    viewer = page.locator(".viewer").first
    viewer.locator("> button").click()
    assert "Drag across the curves" in viewer.inner_text()
    over, steps = viewer.locator(".u-over"), []
    for gesture in (None, "drag", "double click"):
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if gesture == "drag":
            page.mouse.move(*middle)
            page.mouse.down()
            page.mouse.move(middle[0] + box["width"] / 3, middle[1], steps=5)
            page.mouse.up()
        elif gesture:
            page.mouse.dblclick(*middle)
        page.mouse.move(middle[0] + 1, middle[1])
        page.mouse.move(*middle)
        steps.append(int(viewer.locator(".u-legend td").first.inner_text().replace(",", "")))
    assert steps[0] < steps[1]
    assert steps[0] == steps[2]


def test_many_single_runs_leave_the_values_of_the_means(report, window):
    """With 5 arms of 5 seeds nothing said what the cursor is at."""
    viewer = window("light").open(report).page.locator(".viewer").first
    viewer.locator("> button").click()
    viewer.get_by_label("single runs").check()
    assert viewer.locator(".u-legend th").count() == 6


def test_scale_of_colours_of_a_heat_map_is_shown(report, window):
    """Matplotlib makes it a picture inside the figure, which a strict policy takes for something fetched."""
    watched = window("light").open(report)
    assert watched.page.locator("svg image").count() > 0
    assert watched.wrong == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_barrier_in_the_page_with_everything_open(report, window, theme):
    watched = window(theme).open(report)
    watched.page.locator(".viewer > button").first.click()
    watched.unfold()
    assert not watched.is_too_wide
    assert watched.barriers == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["report.html", *(f"{name}/{scale}/report.html" for name, scale in OWN_PAGES.items())])
def test_axe_finds_no_barrier_in_the_pages_of_single_experiments(pages, window, page, theme):
    watched = window(theme).open(pages / page)
    for viewer in watched.page.locator(".viewer > button").all():
        viewer.click()
    watched.unfold()
    assert (watched.is_too_wide, watched.barriers, watched.wrong) == (False, [], [])


def test_a_printed_page_is_dark_on_white_and_no_table_is_cut(report, window):
    page = window("dark").open(report).page
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    cut = (
        "[...document.querySelectorAll('table')].filter((each) => each.offsetWidth > document.body.clientWidth).length"
    )
    assert page.evaluate(cut) == 0


def test_the_page_of_all_leads_to_every_page(pages, window):
    watched = window("dark").open(pages / "report.html")
    assert watched.page.locator("h1").text_content() == f"{len(OWN_PAGES)} experiments"  # six titles fill a phone
    links = watched.page.locator("nav a").all()
    assert all(link.is_visible() for link in links)
    for link in [each.get_attribute("href") for each in links]:
        watched.open(pages / link)
        assert watched.page.locator("main h2").count() > 0
    assert (len(links), watched.wrong) == (len(OWN_PAGES), [])
