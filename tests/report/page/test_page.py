"""The page: complete without its script, nothing fetched, everything escaped, equal bytes, parts that are right."""

import html
import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import learning, made

from normexp.config.recipe import with_recipe
from normexp.evidence.curves import Cell, Curve
from normexp.experiments.freeze import freeze
from normexp.records import find_runs
from normexp.records.ranges import ranges
from normexp.report.figures.experiments import told_apart
from normexp.report.figures.styles import LineStyle
from normexp.report.html import sentence, text
from normexp.report.page.curves import MOST_POINTS, MOST_SERIES, as_script, viewer_data
from normexp.report.page.elements import findings, notes
from normexp.report.page.page import _list
from normexp.report.page.runs import _first, write_runs_page
from normexp.report.page.section import Section
from normexp.report.page.svg import inline
from normexp.report.page.write import title_of
from normexp.report.tables.table import Table

VOID = ("meta", "input", "br", "hr", "img", "link")
TINY = ["model=mlp", "model.widths=[6]", "steps=4", "eval_every=2", "batch_size=16", "dataset.subset=64", "threads=1"]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """Checks that elements are closed in order; collects identifiers, links, and addresses that would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            if key in ("href", "xlink:href"):
                self.links.append(value)
            if key in ("src", "srcset", "data", "action", "poster"):
                self.fetched.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}>"


def parsed(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    elements.close()
    assert elements.open == []
    return elements


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A committed experiment with training curves, claims and figures, copied."""
    folder = tmp_path_factory.mktemp("page") / "results"
    source = Path(__file__).parents[3] / "results" / "digits_five_schemes"
    shutil.copytree(source, folder / "digits_five_schemes")
    return folder


@pytest.fixture(scope="module")
def page(results):
    from normexp.report.commands.experiments import report_all

    written = list(report_all(["digits_five_schemes", f"results_dir={results}"]))
    assert written[-1].name == "report.html"
    return written[-1]


def test_page_is_well_formed_and_fetches_nothing(page):
    elements = parsed(page.read_text())
    assert elements.fetched == []
    assert {link[:1] for link in elements.links} == {"#"}
    assert len(elements.ids) == len(set(elements.ids))
    assert {link.removeprefix("#") for link in elements.links} <= set(elements.ids)


def test_page_has_claims_table_figures_curves_and_origins(page):
    text = page.read_text()
    for part in (
        "where nothing else is said",
        "holds at this scale",
        "97.94 ± 0.37",
        "weight_mean_only",
        "normexp run",
        "<svg",
        'role="img"',
        "0-4",
    ):
        assert part in text
    assert len(data_of(text)["series"]) == 25


def test_page_says_what_its_verdicts_mean(page):
    assert "A claim holds where the whole 95 % interval" in page.read_text(encoding="utf-8")


def test_commands_on_the_page_train_the_recorded_configurations(page, results):
    """Older records were made before there were recipes, and name none."""
    from normexp.config import compose

    commands = [html.unescape(each) for each in re.findall(r"<td[^>]*>normexp run ?([^<]*)</td>", page.read_text())]
    recorded = [run.config["_changes_"] for run in find_runs([results]) if run.path.name == "seed=0"]
    made = [compose(with_recipe(shlex.split(each))).changes for each in commands]
    assert len(made) == 5
    assert all(changes in recorded for changes in made)


def test_viewer_speaks_in_the_words_and_units_of_the_figures(page):
    data = data_of(page.read_text())
    arms = ["No norm", "Batch norm", "Layer norm", "Group norm", "Weight norm + mean-only batch norm"]
    assert data["arms"] == arms
    assert data["metrics"][0] == "test accuracy (%)"
    last = [values[0][-1] for arm, *_, values in data["series"] if arm == 0]
    assert np.mean(last) == pytest.approx(97.94, abs=0.01)  # as in the table


def data_of(text: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def test_viewer_has_the_colours_of_the_figures(page, results):
    """The curves of a figure stand in it in the order of the arms."""
    for figure in ("accuracy", "loss"):
        svg = (results / "digits_five_schemes" / "cpu" / f"{figure}.svg").read_text()
        drawn = list(dict.fromkeys(re.findall(r"stroke: (#\w+); stroke-width: 1.4;", svg)))
        assert [colour.lower() for colour, _ in data_of(page.read_text())["styles"]] == drawn


def test_cells_that_two_figures_draw_alike_are_told_apart_in_the_viewer():
    style = LineStyle("#0072B2")
    low, high = (Cell("a", (("lr", rate),)) for rate in (0.1, 1.0))
    styles = told_apart({low: style, Cell("b"): LineStyle("#000000"), high: style})
    first, other, second = styles.values()
    assert (first, other) == (style, LineStyle("#000000"))
    assert first.color == second.color
    assert first.dashes != second.dashes


@pytest.mark.slow
def test_page_of_equal_records_has_equal_bytes(page, results):
    from normexp.report.commands.experiments import report_all

    before = page.read_bytes()
    list(report_all(["digits_five_schemes", f"results_dir={results}"]))
    assert page.read_bytes() == before


@pytest.mark.slow
def test_page_that_is_too_large_becomes_several(results, monkeypatch):
    from normexp.report.commands.experiments import report_all
    from normexp.report.page import write as module

    monkeypatch.setattr(module, "MOST", 1000)
    *_, whole = report_all([f"results_dir={results}"])
    elements = parsed(whole.read_text())
    assert "digits_five_schemes/cpu/report.html" in elements.links
    own = parsed((results / "digits_five_schemes" / "cpu" / "report.html").read_text())
    assert [link for link in own.links if not link.startswith("#")] == ["../../report.html"]
    assert "figure" not in elements.tags
    assert "figure" in parsed((results / "digits_five_schemes/cpu/report.html").read_text()).tags


def test_page_of_runs_escapes_what_they_say(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("run", *TINY, "norm=batch", "--quiet")[0] == 0
    run = next((tmp_path / "results" / "runs").iterdir())
    environment = json.loads((run / "environment.json").read_text())
    environment["processor"], environment["packages"]["torch"] = HOSTILE, HOSTILE
    environment["data"]["note"] = HOSTILE
    (run / "environment.json").write_text(json.dumps(environment))
    status = json.loads((run / "status.json").read_text())
    status.pop("sha256")
    (run / "status.json").write_text(json.dumps(status))
    code, stdout, stderr = cli("report", "results/runs")
    assert code == 0, stderr
    text = Path(stdout.splitlines()[-1]).read_text()
    assert "alert(1)" in text
    assert HOSTILE not in text
    assert parsed(text).tags.count("script") == 3  # the data of the curves, the plotting library, ours


def test_page_of_runs_says_once_what_is_left_out_and_what_it_is_of(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (0, 1):
        assert cli("run", *TINY, f"seed={seed}", "--quiet")[0] == 0
    run = next(iter(sorted((tmp_path / "results" / "runs").iterdir())))
    (run / "metrics.csv").write_text("step\n")
    _, stdout, _ = cli("report", "results/runs")
    page = Path(stdout.splitlines()[-1]).read_text()
    content = re.sub(r"<svg.*?</svg>", "", page[page.index("<main") :], flags=re.DOTALL)  # which is heard, not read
    assert content.count("Left out, 1") == 2  # under the figure, and under the table
    assert '<h2 id="runs-head">Results</h2>' in content
    assert "Runs in" not in content


@pytest.mark.slow
def test_page_of_runs_shows_the_scales_of_an_experiment_apart(fabricate):
    """They have arms and seeds of one name, and those of one scale stood in the place of the other's."""
    for scale in ("cpu", "paper"):
        ours = made(fabricate, scale)
        ours.run(learning)
        freeze(ours.experiment, fabricate.root)
    fabricate(norm="batch")
    page = write_runs_page(fabricate.root).read_text(encoding="utf-8")
    assert re.findall("<h3>(.*?)</h3>", page) == ["x, scale cpu", "x, scale paper", "Runs of no experiment"]
    data = re.findall(r'<script type="application/json">(.*?)</script>', page)
    assert [len(json.loads(each)["series"]) for each in data] == [6, 6, 1]
    assert re.findall(r"<td[^>]*>(0[^<]*)</td>", page.partition("<h3>")[2]) == ["0-2"] * 4 + ["0"]
    parsed(page)


def test_page_of_runs_of_a_study_has_no_figure(fabricate):
    """It said that --metric takes others, an option that `normexp report` has not."""
    fabricate(table=[{"step": 1, "level": 0.5}, {"step": 2, "level": 0.7}], columns=("step", "level"))
    tags = parsed(write_runs_page(fabricate.root).read_text(encoding="utf-8")).tags
    assert ("figure" in tags, "table" in tags) == (False, True)


def test_page_of_runs_of_which_none_is_finished_says_so(fabricate):
    fabricate(status="running")
    page = write_runs_page(fabricate.root).read_text(encoding="utf-8")
    assert "Not finished and in no number, 1 of 1 runs" in page
    assert "figure" not in parsed(page).tags


def test_section_of_each_scale_has_a_name_of_its_own(page):
    assert '<section id="digits_five_schemes-cpu" aria-label="Five schemes on digits, scale cpu">' in page.read_text()


def test_links_to_two_scales_of_an_experiment_differ_in_their_words():
    sections = [Section(name, title, "", {}) for name, title in (("a-cpu", "A"), ("a-paper", "A"), ("b-cpu", "B"))]
    words = re.findall("<a [^>]*>(.*?)</a>", _list(sections, ["#1", "#2", "#3"]))
    assert words == ["A, scale cpu", "A, scale paper", "B"]


def test_an_experiment_at_two_scales_is_in_the_title_once():
    assert title_of(["Digits", "Digits"]) == "Digits"
    assert title_of(["Digits", "MNIST", "Digits"]) == "Digits, MNIST"
    assert title_of(["Digits", "MNIST", "CIFAR-10"]) == "3 experiments"
    assert title_of(["Digits", "MNIST", "CIFAR-10", "Digits"]) == "3 experiments at 4 scales in all"


def test_page_of_an_empty_or_foreign_folder_is_one_line(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    code, _, stderr = cli("report", "empty")
    assert (code, "holds no run directory" in stderr, len(stderr.splitlines())) == (2, True, 1)
    code, _, stderr = cli("report", "nowhere")
    assert (code, len(stderr.splitlines())) == (2, 1)


def test_svg_gets_names_of_its_own():
    svg = b'<?xml version="1.0"?><svg width="3pt" height="4pt" viewBox="0 0 3 4">'
    svg += b'<defs><path id="m" d="M 0.123456 1.96"/></defs>'
    svg += b'<g id="unused"><use xlink:href="#m" x="1.004"/></g></svg>'
    text = inline(svg, "f7", "A & B", "<c>")
    assert 'xlink:href="#f7-0" x="1"' in text
    assert '<path id="f7-0" d="M 0.1 2"/>' in text
    assert "unused" not in text
    assert '<title id="f7-title">A &amp; B</title><desc id="f7-about">&lt;c&gt;</desc>' in text
    assert 'width="3pt"' not in text


def curve(values, diverged=False):
    return Curve(np.arange(len(values)), {"test/loss": np.array(values)}, "diverged" if diverged else "done")


def test_viewer_keeps_the_ends_of_long_curves_and_marks_divergence():
    curves = {Cell("a"): {0: curve(np.arange(1000.0)), 3: curve([1.0, np.inf], True)}}
    data = viewer_data(curves, ["test/loss"], {Cell("a"): ("A", LineStyle("#000000"))})
    steps = data["steps"][data["series"][0][2]]
    assert len(steps) <= MOST_POINTS
    assert (steps[0], steps[-1]) == (0, 999)
    assert data["series"][1] == [0, 3, 1, 1, [[1.0, None]]]


def test_viewer_thins_the_runs_of_an_arm_at_the_same_steps():
    """One that diverged has fewer evaluations: thinned by itself it shared a handful of steps with the others."""
    curves = {Cell("a"): {0: curve(np.arange(101.0)), 1: curve(np.arange(57.0), True)}}
    data = viewer_data(curves, ["test/loss"], {Cell("a"): ("A", LineStyle("#000000"))})
    whole, ended = (data["steps"][places] for _, _, places, _, _ in data["series"])
    assert ended == [*(step for step in whole if step < 56), 56]


def test_viewer_says_how_many_runs_it_leaves_out():
    curves = {Cell("a"): {seed: curve([1.0, 2.0]) for seed in range(MOST_SERIES + 2)}}
    data = viewer_data(curves, ["test/loss"], {Cell("a"): ("A", LineStyle("#000000"))})
    assert (len(data["series"]), data["left_out"]) == (MOST_SERIES, 2)


def test_viewer_of_runs_without_validation_begins_with_the_test_split():
    splits = ["validation", "test"]
    assert [_first(["train/accuracy", f"{split}/accuracy"]) for split in splits] == splits


def test_viewer_of_ones_own_runs_begins_with_validation():
    names = ["train/loss", "validation/loss", "test/accuracy", "validation/accuracy"]
    curves = {Cell("a"): {0: Curve(np.arange(2), dict.fromkeys(names, np.array([0.5, 0.9])), "done")}}
    data = viewer_data(curves, names, {Cell("a"): ("A", LineStyle("#000000"))}, first="validation")
    assert (data["metrics"][0], data["series"][0][-1][0]) == ("validation accuracy (%)", [50.0, 90.0])


def test_viewer_of_single_values_is_nothing():
    assert viewer_data({Cell("a"): {0: curve([1.0])}}, ["test/loss"], {}) is None


def test_data_of_the_viewer_cannot_end_its_element():
    assert "</script>" not in as_script({"arms": ["</script><script>"]})
    assert json.loads(as_script({"arms": ["</script>&"]})) == {"arms": ["</script>&"]}


def test_ranges_are_short():
    assert ranges([3, 0, 1, 2, 7]) == "0-3, 7"


def test_a_long_note_or_caption_is_whole():
    long = "word " * 600 + "`a command` end"
    for shown in (text(long), sentence(long)):
        assert shown.replace("<code>", "").replace("</code>", "").replace("`", "").endswith("word a command end")


def test_what_was_found_is_open_and_not_among_the_folded_notes():
    table = Table("T", ["a"], [["1"]], notes={"Runs": ["Five."], "Findings": ["It holds."]})
    assert findings(table) == '<div class="findings"><h3>Findings</h3><ul><li>It holds.</li></ul></div>'
    assert "It holds" not in notes(table)
    assert "Five" in notes(table)
    assert findings(Table("T", ["a"], [["1"]])) == ""
