"""The figure: what is drawn, that it is the same again, and that nothing overlaps."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from fabricated import REGRESSION, Fabric, rows
from matplotlib.text import Text

from normexp.errors import UserError
from normexp.records import RunDirectory
from normexp.report import plot_command
from normexp.report.colors import BY_NORM, color, looks
from normexp.report.curves import Mark, curve
from normexp.report.ends import End, fit
from normexp.report.figures import _captions, _figure, _paper_style, _rows, canvas
from normexp.report.layout import PANEL_HEIGHT, SMALL, arranged, broken, text_width
from normexp.report.limits import limits
from normexp.report.panel import draw
from normexp.report.select import select
from normexp.report.spread import spread


def losses(*values: float, every: int = 10) -> list[dict[str, object]]:
    """Return evaluations of a training loss from step `every` on; step 0 has none."""
    later: list[dict[str, object]] = [{"step": i * every, "train/loss": v} for i, v in enumerate(values, 1)]
    return [{"step": 0}, *later]


def points(runs: list[RunDirectory], metric: str = "train/loss") -> dict[int, tuple[float, float]]:
    (arm,) = select(runs).arms
    drawn = curve(arm, metric, "")
    assert drawn is not None
    return {point.step: (point.mean, point.spread) for point in drawn.points}


def test_line_is_the_mean_and_band_the_sample_standard_deviation(fabricate: Fabric) -> None:
    runs = [fabricate(seed=seed, table=losses(1.0 + seed, 0.5)) for seed in range(3)]
    assert points(runs) == {10: (2.0, pytest.approx(statistics.stdev([1, 2, 3]))), 20: (0.5, 0.0)}


def test_one_seed_has_no_band(fabricate: Fabric) -> None:
    assert all(math.isnan(spread) for _, spread in points([fabricate()]).values())


def test_accuracy_is_in_percent(fabricate: Fabric) -> None:
    assert points([fabricate(0.9)], "test/accuracy")[30][0] == pytest.approx(90.0)


def test_a_diverged_curve_ends_and_is_never_filled_in(fabricate: Fabric) -> None:
    runs = [fabricate(table=losses(4, 3, 2))]
    runs += [fabricate(seed=1, table=losses(6, 9), status="diverged")]
    means = {step: value for step, (value, _) in points(runs).items()}
    assert means == {10: 5.0, 20: 6.0, 30: 2.0}
    drawn = curve(select(runs).arms[0], "train/loss", "")
    assert drawn is not None
    assert drawn.marks == (Mark(20, 9.0),)


def test_a_run_without_any_finite_value_still_has_a_mark(fabricate: Fabric) -> None:
    runs = [fabricate(table=losses(), status="diverged"), fabricate(seed=1, table=losses(3, 2))]
    drawn = curve(select(runs).arms[0], "train/loss", "")
    assert drawn is not None
    assert drawn.marks == (Mark(7, None),)
    assert [point.mean for point in drawn.points] == [3.0, 2.0]
    assert plot_command([str(runs[0].path)])


def test_seeds_evaluated_at_other_steps_count_where_all_were(fabricate: Fabric) -> None:
    runs = [fabricate(table=losses(6, 5, 4, 3, 2, 1)), fabricate(seed=1, table=losses(9, 8, every=30))]
    assert {step: value for step, (value, _) in points(runs).items()} == {30: 6.5, 60: 4.5}


def test_texts_say_how_many_converged(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch", seed=seed) for seed in range(3)]
    runs += [fabricate(seed=0), fabricate(seed=1, status="diverged")]
    runs += [fabricate(norm="layer", status="running")]
    (row,) = _rows(select(runs), None)
    assert [panel.metric for panel in row.panels] == ["train/loss", "test/accuracy"]
    assert [curve.text for curve in row.panels[0].curves] == ["none (1/2 converged)", "batch (n=3)"]
    captions = " ".join(_captions(select(runs), [row]))
    assert "± 1 standard deviation over 2 to 3 seeds" in captions
    assert "none seed 1 at step 37" in captions
    assert "layer seed 0 (running" in captions


def test_data_sets_and_models_are_small_multiples(fabricate: Fabric) -> None:
    regression: list[dict[str, object]] = [{"step": s, "test/rmse": 1.0, "train/loss": 1.0} for s in (0, 5)]
    runs = [fabricate(norm="batch"), fabricate(norm="batch", model="mlp")]
    runs += [fabricate(norm="batch", dataset="houses", table=regression, columns=REGRESSION)]
    made = _rows(select(runs), None)
    assert [row.name for row in made] == ["digits · cnn", "digits · mlp", "houses · cnn"]
    assert [row.panels[1].metric for row in made] == ["test/accuracy", "test/accuracy", "test/rmse"]
    assert {curve.text for row in made for panel in row.panels for curve in panel.curves} == {"batch"}
    assert [row.name for row in _rows(select(runs), "test/rmse")] == ["houses · cnn"]


def test_log_axis_only_for_losses_that_span_enough(fabricate: Fabric) -> None:
    def axis(*values: float) -> bool:
        drawn = curve(select([fabricate(table=losses(*values))]).arms[0], "train/loss", "")
        assert drawn is not None
        return limits("train/loss", [drawn]).log

    assert axis(2.0, 0.01)
    assert not axis(2.0, 0.1)
    assert not axis(2.0, 0.0)


def test_band_on_a_logarithmic_axis_is_from_the_lowest_to_the_highest_seed(fabricate: Fabric) -> None:
    """Mean - sd of 3, 0.04, 0.04 is below 0, and would be drawn down to the axis' foot."""
    runs = [fabricate(seed=i, table=losses(10.0, value)) for i, value in enumerate((3.0, 0.04, 0.04))]
    drawn = curve(select(runs).arms[0], "train/loss", "")
    assert drawn is not None
    assert drawn.points[-1].reach == (0.04, 3.0)
    axes = canvas(3, 2).add_subplot()
    lower = replace(drawn, points=(drawn.points[0], replace(drawn.points[1], mean=0.1)))
    draw(axes, "train/loss", [lower], looks(select(runs).arms), labelled=False)
    assert axes.get_yscale() == "log"
    (band,) = axes.collections
    ends = {round(float(y), 6) for x, y in band.get_paths()[0].vertices if x == 20}
    assert ends == {0.04, 3.0}


def test_captions_say_what_the_band_is_and_what_is_beyond_the_panel(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch", seed=i, table=losses(2.0, 0.001)) for i in range(2)]
    runs += [fabricate(norm="layer", seed=i, table=losses(2.0, 0.001)) for i in range(2)]
    runs += [fabricate(norm="none", seed=i, table=losses(1e28, 0.001)) for i in range(2)]
    made = _rows(select(runs), None)
    captions = " ".join(_captions(select(runs), made))
    assert "on a logarithmic axis from the lowest to the highest seed" in captions
    assert "Beyond the panel's top: none." in captions
    panel = made[0].panels[0]
    assert limits(panel.metric, panel.curves).high < 1e5


def test_names_stand_at_the_lines_only_near_their_ends() -> None:
    """A bundle of lines that end together gets a legend: leaders fanning out of one point cannot be followed."""
    apart = [End(f"arm {i}", "black", 1.0, i / 8) for i in range(8)]
    together = [End(f"arm {i}", "black", 1.0, 0.99) for i in range(3)]
    assert fit(apart, PANEL_HEIGHT)
    assert fit(together[:2], PANEL_HEIGHT)
    assert not fit(together, PANEL_HEIGHT)
    assert not fit([End("ends early", "black", 0.1, 0.5)], PANEL_HEIGHT)
    assert not fit([End("a" * 60, "black", 1.0, 0.5)], PANEL_HEIGHT)


def test_legend_fills_the_width_evenly() -> None:
    assert arranged(["none", "batch", "layer"], 8.0) == (1, 3)
    lines, columns = arranged([f"scheme {i}" for i in range(7)], 6.0)
    assert (lines, columns) == (2, 4)
    assert arranged(["a" * 90, "b" * 90], 3.0) == (2, 1)


def test_an_exploding_run_does_not_set_the_scale(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch", table=losses(2, 1)), fabricate(table=losses(3, 1e30), status="diverged")]
    drawn = [curve(arm, "train/loss", "") for arm in select(runs).arms]
    y = limits("train/loss", [each for each in drawn if each])
    assert y.high < 30


def test_a_scheme_has_one_colour_and_its_arms_differ_by_line(fabricate: Fabric) -> None:
    runs = [fabricate(norm=norm, epochs=i + 1) for norm in ("batch", "none") for i in range(10)]
    found = looks(select(runs).arms)
    assert len(set(found.values())) == len(found) == 20
    assert {look.color for label, look in found.items() if label.startswith("batch")} == {BY_NORM["batch"]}
    assert len(set(BY_NORM.values())) == len(BY_NORM)
    assert color("my_norm") == color("my_norm") not in BY_NORM.values()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([0.1, 0.5], [0.1, 0.5]),
        ([0.5, 0.5], [0.55, 0.45]),
        ([1.0, 1.0, 1.0], [1.0, 0.9, 0.8]),
        ([0.0, 0.0], [0.1, 0.0]),
        ([0.2, 0.9, 0.9, 0.25], [0.175, 0.95, 0.85, 0.275]),
    ],
)
def test_labels_move_apart_as_little_as_needed(wanted: list[float], expected: list[float]) -> None:
    assert spread(wanted, 0.1, 0.0, 1.0) == pytest.approx(expected)


def test_captions_are_broken_to_the_width() -> None:
    lines = broken("words of a caption " * 20, 3.0)
    assert all(text_width(line, SMALL) <= 3.0 for line in lines)
    assert " ".join(lines) == ("words of a caption " * 20).strip()


@pytest.mark.parametrize("count", [1, 8, 12])
def test_no_text_is_cut_or_overlaps(fabricate: Fabric, count: int) -> None:
    runs = [fabricate(0.1 + i / 15, norm="mean_only", epochs=i + 1, note="a note") for i in range(count)]
    selection = select([*runs, fabricate(norm="x", status="failed", note="a note")])
    made = _rows(selection, None)
    with _paper_style():
        figure = _figure(made, looks(selection.arms), _captions(selection, made))
        figure.canvas.draw()
        texts = [t for t in figure.findobj(Text) if str(t.get_text()).startswith("mean_only")]
        boxes = [text.get_window_extent() for text in {*texts, *figure.texts}]
    # every loss ends at the same value: the names are in a legend, but for a single one
    assert len(boxes) == 2 + (count if count > 1 else 2)
    page = figure.bbox
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 and b.y1 <= page.y1 for b in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_png_and_svg_are_the_same_bytes_again(fabricate: Fabric) -> None:
    run, *_ = [fabricate(norm=norm, seed=seed) for norm in ("batch", "none") for seed in (0, 1)]
    paths = plot_command([str(run.path.parent)])
    assert [path.name for path in paths] == ["curves.png", "curves.svg"]
    assert paths[0].parent == run.path.parent
    first = [path.read_bytes() for path in paths]
    matplotlib.rcParams["axes.labelcolor"] = "red"  # the user's own settings must not matter
    try:
        assert [path.read_bytes() for path in plot_command([str(run.path.parent)])] == first
        assert matplotlib.rcParams["axes.labelcolor"] == "red"
    finally:
        matplotlib.rcdefaults()
    assert first[0].startswith(b"\x89PNG")
    assert ElementTree.fromstring(first[1]).tag.endswith("svg")
    assert str(run.path.parent).encode() not in first[1]


def test_places_of_the_figure(fabricate: Fabric, tmp_path: Path) -> None:
    run = fabricate()
    assert plot_command([str(run.path)])[0] == run.path / "curves.png"
    assert plot_command([str(run.path)], str(tmp_path / "new"))[1] == tmp_path / "new" / "curves.svg"
    assert plot_command([str(run.path)], str(tmp_path / "v1.5.svg"))[0] == tmp_path / "v1.5.png"
    assert plot_command([str(run.path)], metric="test/loss")[0] == run.path / "curves-test-loss.png"


def test_labels_are_plain_text(fabricate: Fabric) -> None:
    """matplotlib reads $ as mathematics, and an odd formula would end in a traceback."""
    run = fabricate(norm="batch", model__name="$\\frac{$")
    assert plot_command([str(run.path), str(fabricate(norm="batch", note="$\\bad{$").path)])


def test_a_run_with_a_single_evaluation(fabricate: Fabric) -> None:
    assert plot_command([str(fabricate(table=rows(0.5, (0,))).path)])


def test_mistakes_are_one_line(fabricate: Fabric) -> None:
    run = fabricate()
    with pytest.raises(UserError, match=r"metric 'test/acuracy' .*train/loss.*did you mean test/accuracy\?"):
        plot_command([str(run.path)], metric="test/acuracy")
    empty = run.path.parent / "empty"
    empty.mkdir()
    with pytest.raises(UserError, match="holds no run directory"):
        plot_command([str(empty)])
    with pytest.raises(UserError, match=r"no finished run to plot \(failed: 1, running: 1\)"):
        plot_command([str(fabricate(norm=s, status=s).path) for s in ("running", "failed")])
    with pytest.raises(UserError, match="cannot be written"):
        plot_command([str(run.path)], str(run.path / "config.yaml"))
