"""Runs at their target, bars, counts, heat maps, paths and contours."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import Made, learning, made, texts
from fabricated import Fabric
from figure_kinds import FIGURE, HERE
from matplotlib.collections import LineCollection

from normexp.report.figures import heat
from normexp.report.figures.chart import Chart
from normexp.report.figures.formats import STYLES, settings, theme
from normexp.report.figures.own.path import cut_path
from normexp.report.figures.picture import draw
from normexp.report.figures.rows import NEVER, WIDTH
from normexp.report.figures.scales import TIMES


def test_runs_that_never_reach_the_target_stand_at_their_place(fabricate: Fabric) -> None:
    ends = {("Plain", 0): 0.5, ("Plain", 1): 0.6, ("Plain", 2): 0.95}
    experiment = made(fabricate)
    experiment.statuses = {("With BN", 0): "diverged"}
    experiment.run(
        lambda arm, point, _: [
            {"step": step, "test/accuracy": ends.get((arm, point["seed"]), 0.99) * step / 100}
            for step in range(0, 101, 10)
        ]
    )
    spec = {"kind": "steps_to_target", "metric": "test/accuracy", "target": 0.9}
    (axes,) = experiment.figure(**spec).axes
    marks = [(line.get_marker(), float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axes.lines]
    plain = sorted((x for marker, x, y in marks if marker == "o" and y < 0.5))
    assert (plain[-1], all(NEVER < x < 2 for x in plain[:2])) == (100, True)
    assert [x > 2 for marker, x, y in marks if marker == "|" and y < 0.5] == [False]  # two of three: never
    assert [x for marker, x, _ in marks if marker == "x"] == [100]  # it diverged, but after it had got there
    assert "Never: not within the steps trained, at most 100." in experiment.caption(**spec)
    sorted_rows = experiment.figure(**spec, sort=True).axes[0].get_yticklabels()
    assert [text.get_text() for text in sorted_rows] == ["With BN", "Plain"]


@pytest.mark.parametrize("style", STYLES)
def test_each_run_that_never_reaches_the_target_is_seen(style: str) -> None:
    """In the small type of a paper all lay at one place, and elsewhere the eighth on the first."""
    rows = [{"steps": math.inf, "line": "Plain", "run": run, "ended": False} for run in range(12)]
    with settings(theme(style)):
        (axes,) = draw(Chart(pd.DataFrame(rows), "point", x="steps", y="line"), theme(style)).axes
    dots = {(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == "o"}
    assert len(dots) == 12
    assert all(NEVER < x < NEVER + WIDTH for x, _ in dots)


def test_against_has_an_interval_at_each_value(two: Made) -> None:
    spec = {"kind": "against", "metric": "test/accuracy", "axis": "batch_size", "log": ["x"]}
    (axes,) = two.figure(**spec).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["8", "16"]
    assert len([each for each in axes.collections if isinstance(each, LineCollection)]) == 2
    assert "95 % t interval" in two.caption(**spec)


@pytest.mark.parametrize(
    ("named", "shown"), [("With BN", ["Plain", "With BN"]), ("with batch norm", ["plain", "with batch norm"])]
)
def test_names_of_arms_begin_alike(two: Made, named: str, shown: list[str]) -> None:
    """With a capital where one of them is a name, else as they are written."""
    labels = {"Plain": "plain", "With BN": named}
    figure = two.figure(kind="bars", metric="test/loss", axis="batch_size", together=True, labels=labels)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == shown


def test_bars_of_one_axis_together(two: Made) -> None:
    spec = {"kind": "bars", "metric": "test/loss", "axis": "batch_size", "together": True}
    figure = two.figure(**spec)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["Plain", "With BN"]
    assert {"batch size 8", "batch size 16"} <= {text.get_text() for text in texts(figure)}
    assert "1 of 3 diverged" in {text.get_text() for text in texts(figure)}
    assert "come last" not in two.caption(**spec)
    assert "Rows with a run that diverged come last." in two.caption(**spec, sort=True)


def test_counts_are_stacked_to_the_whole(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, _: [{"step": 0, "right": 3.0, "wrong": 1.0 if arm == "Plain" else 0.0}])
    figure = experiment.figure(kind="counts", metrics=["right", "wrong"])
    ends = [bar.get_x() + bar.get_width() for bar in figure.axes[0].patches]
    assert ends == [3, 4, 3, 3]
    assert {"right", "wrong", "3", "1"} <= {text.get_text() for text in texts(figure)}


def test_heat_prints_the_mean_and_who_diverged_and_hatches_what_has_no_value(fabricate: Fabric) -> None:
    experiment = made(fabricate, grid={"seed": [0, 1], "batch_size": [8, 16]})
    experiment.statuses = {("Plain", 0): "diverged", ("With BN", 0): "running", ("With BN", 1): "running"}
    experiment.run(lambda arm, point, _: [{"step": 0, "test/accuracy": 0.5 + 0.1 * point["seed"]}])
    experiment.statuses = {}
    spec = {"kind": "heat", "metric": "test/accuracy", "axis": "batch_size"}
    assert {text.get_text() for text in experiment.figure(**spec).axes[0].texts} == {"60.0\n1 of 2 diverged"}
    hatched = made(fabricate, grid={"seed": [0, 1], "batch_size": [8, 16]}).chart(**spec)
    with_hole = replace(hatched, data=hatched.data.assign(value=[math.nan, 60.0], text=["diverged", "60"]))
    with settings(theme()):
        patches = draw(with_hole, theme()).axes[0].patches
    assert [patch.get_hatch() for patch in patches] == ["////", None]


def test_the_text_of_a_heat_map_keeps_off_the_edges_of_its_cells(fabricate: Fabric) -> None:
    experiment = made(fabricate, grid={"seed": [0, 1], "batch_size": [8, 16, 32, 64, 128, 256, 512]})
    experiment.statuses = {("Plain", 0): "diverged"}
    experiment.run(learning)
    figure = experiment.figure(kind="heat", metric="test/accuracy", axis="batch_size")
    figure.set_dpi(200)
    figure.canvas.draw()
    (axes, *_) = figure.axes
    cell = axes.bbox.width / 7
    assert 0.7 * cell < max(text.get_window_extent().width for text in axes.texts) < 0.9 * cell


def test_heat_prints_powers_of_ten_as_its_axis_does(fabricate: Fabric) -> None:
    experiment = made(fabricate, grid={"seed": [0], "batch_size": [8, 16]})
    experiment.run(lambda arm, point, _: [{"step": 0, "test/loss": 4e-8 if point["batch_size"] == 8 else 0.142}])
    chart = experiment.chart(kind="heat", metric="test/loss", axis="batch_size")
    assert set(chart.data["text"]) == {f"4.0{TIMES}10⁻⁸", "0.142"}


def test_colours_of_a_heat_map_end_where_a_value_lies_far_out() -> None:
    values = np.array([2.2, 2.4, 2.4, 2.5, 2.7, 3.4, 3.4])
    assert heat._norm(values, log=True).vmax == 3.4
    assert heat._norm(np.append(values, 11.0), log=True).vmax == 3.4
    assert heat._norm(np.append(values, 4.0), log=True).vmax == 4.0


def test_heat_over_an_arm_prints_ratios_paired_by_seed(two: Made) -> None:
    chart = two.chart(kind="heat", metric="test/loss", axis="batch_size", relative_to="With BN")
    assert chart.data["text"].tolist()[2:] == ["1.00", "1.00"]
    assert chart.labels["z"] == "test loss / that of With BN"


def test_path_is_cut_where_it_leaves_the_picture() -> None:
    path = pd.DataFrame({"x": [0.0, 1, 5, 0], "y": [0.0, 1, 1, 0]})
    edges = pd.Series([-3.0, 3.0])
    found = cut_path(path, edges, edges)
    assert found.points.tolist() == [[0, 0], [1, 1], [3, 1]]
    assert found.note("A") == "A: the path leaves the picture in step 2 of 3 (arrow)."
    assert cut_path(path[:2], edges, edges).note("A") == ""
    assert cut_path(path[2:], edges, edges).note("A") == "A: the path starts outside the picture."


def test_contour_levels_are_equally_many_decades_apart(two: Made) -> None:
    levels = two.figure(kind="contour", **FIGURE["contour"]).axes[0].collections[0].levels  # type: ignore[attr-defined]
    ratios = levels[1:] / levels[:-1]
    assert ratios == pytest.approx(ratios[0])


def test_lines_are_named_by_what_tells_them_apart(two: Made) -> None:
    names = set(two.chart(kind="lines", table="path", x="x", y="y", **HERE).styles)
    assert names == {"Plain", "With BN"}  # `where` has said the batch size
    by = two.chart(kind="lines", table="surface", x="w", y="loss", by="b", panels="arm", **HERE)
    assert list(by.styles) == ["b -1.0", "b 0.0", "b 1.0"]
    labelled = two.chart(kind="curves", metric="test/loss", arms=["Plain"], labels={"batch_size": "batch of"})
    assert list(labelled.styles) == ["batch of 8", "batch of 16"]


@pytest.mark.parametrize(("metric", "none"), [("test/loss", "∞"), ("rank", "-")])
def test_heat_calls_nothing_diverged_that_only_has_no_finite_value(fabricate: Fabric, metric: str, none: str) -> None:
    """As in tables: a loss that is not finite is infinite, of other metrics unknown; medians where tables have them."""
    values = {8: (math.inf, math.inf), 16: (2.0, math.inf), 32: (2.0, 4.0), 64: (2.0, 100.0)}
    experiment = made(fabricate, grid={"seed": [0, 1], "batch_size": [*values]})
    experiment.run(lambda arm, point, _: [{"step": 0, metric: values[point["batch_size"]][point["seed"]]}])
    shown = experiment.chart(kind="heat", metric=metric, axis="batch_size", arms=["Plain"]).data
    assert shown["text"].tolist() == [none, "2.00\n1 of 2 finite", "3.00", "51.0\nmedian"]


def test_the_caption_of_a_heat_map_says_how_many_runs_its_cells_have(fabricate: Fabric) -> None:
    """It named the largest of the numbers as if all had as many, as did that of bars without a spread."""
    experiment = made(fabricate)
    experiment.statuses = {("Plain", 0): "running", ("Plain", 1): "failed"}
    experiment.run(lambda *_: [{"step": 0, "test/accuracy": 0.5}])
    assert experiment.caption(kind="heat", metrics=["test/accuracy"]).startswith("Mean over 1 to 3 runs.")
    assert "All 1 to 3 runs agree." in experiment.caption(kind="bars", metric="test/accuracy")


def test_the_caption_of_a_heat_map_of_metrics_says_that_it_shows_means(two: Made) -> None:
    text = two.caption(kind="heat", metrics=["test/accuracy", "test/loss"], caption="Two things.", **HERE)
    assert text.startswith("Two things. Mean over 3 runs; median: where all values are above 0, the largest is at ")
