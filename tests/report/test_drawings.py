"""Every kind of figure of an experiment from made-up records: clean, the same again, and shows what was measured."""

import math
from dataclasses import replace
from shutil import copytree
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import BASE, Made, Rows, assert_clean, learning, made, texts
from fabricated import Fabric
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from one_line import one_line_error

from normexp.errors import UserError
from normexp.experiments.figures import MODELS
from normexp.experiments.load import parse
from normexp.report.figures import heat
from normexp.report.figures.drawn import Drawn
from normexp.report.figures.formats import settings, theme
from normexp.report.figures.hidden import TURN, gapped
from normexp.report.figures.kinds import KINDS
from normexp.report.figures.lines import _written
from normexp.report.figures.own.path import cut_path
from normexp.report.figures.picture import draw
from normexp.report.figures.rows import NEVER
from normexp.report.figures.scales import MINUS, TIMES, power, set_ticks, short
from normexp.report.figures.words import of_arm

FIGURE: dict[str, dict[str, Any]] = {
    "curves": {"metric": "test/loss", "log": ["y"]},
    "percentiles": {"layer": "hidden.0"},
    "steps_to_target": {"metric": "test/accuracy", "target": 0.9, "sort": True},
    "against": {"metric": "test/accuracy", "axis": "batch_size", "log": ["x"]},
    "bars": {"metric": "test/loss", "axis": "batch_size", "log": ["x"], "sort": True},
    "counts": {"metrics": ["test/accuracy", "test/loss"]},
    "contour": {"table": "surface", "x": "w", "y": "b", "z": "loss", "path": "path", "log": ["z"]},
    "lines": {"table": "surface", "x": "w", "y": "loss", "by": "b", "panels": "arm", "boxes": "boxes"},
    "multiples": {"statistic": ["p15", "p85"], "layers": "all"},
    "heat": {"metric": "test/accuracy", "axis": "batch_size"},
}
HERE = {"where": {"batch_size": 8}}


def surface(arm: str, seed: int) -> Rows:
    return [
        {"w": w, "b": b, "loss": w * w + b * b + 0.01} for w in (-2.0, -1.0, 0.0, 1.0, 2.0) for b in (-1.0, 0.0, 1.0)
    ]


def probes(arm: str, seed: int) -> Rows:
    return [
        {"step": step, "probe": "percentiles", "layer": layer, "statistic": name, "value": value * step + seed}
        for layer in ("hidden.0", "hidden.1")
        for step in range(0, 101, 10)
        for name, value in (("p15", -1.0), ("p50", 0.0), ("p85", 1.0))
    ]


def full(fabric: Fabric, scale: str = "cpu", **changes: Any) -> Made:
    """Return an experiment whose runs have everything that some kind of figure reads."""
    experiment = made(fabric, scale, **changes)
    experiment.statuses = {(next(iter(experiment.experiment.arms)), 1): "diverged"}
    experiment.run(learning)
    experiment.probes(probes)
    experiment.tables("surface", surface)
    experiment.tables("path", lambda arm, seed: [{"x": -1.5, "y": 0.5}, {"x": 1.0, "y": -0.5}, {"x": 5.0, "y": 0.0}])
    experiment.tables("boxes", lambda arm, seed: [{"x0": -2, "x1": 0, "y0": 0.5, "y1": 2, "label": "here"}])
    return experiment


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return full(Fabric(tmp_path_factory.mktemp("two")), grid={"seed": [0, 1, 2], "batch_size": [8, 16]})


def test_every_kind_of_the_schema_can_be_drawn() -> None:
    assert set(KINDS) == set(MODELS) == set(FIGURE)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_clean(two: Made, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr("normexp.report.figures.drawn.draw", lambda *given: figures.append(draw(*given)) or figures[-1])
    drawn = two.draw(kind=kind, **FIGURE[kind])
    assert set(drawn.files) == {"x.svg"}
    assert str(two.fabric.root).encode() not in drawn.files["x.svg"]
    if kind in ("curves", "contour"):  # the first of the grammar and the first of a picture of its own
        assert two.draw(kind=kind, **FIGURE[kind]) == drawn
    assert drawn.markdown().startswith("![A title](x.svg)\n\n")
    assert_clean(figures[0])


def test_names_are_no_markup_in_the_page_of_a_figure() -> None:
    hostile = Drawn("x", "A [b](c)\n\n# *d*", "Lines <img src=x> of _all_ | `e`.", {"my x](y).svg": b""})
    assert hostile.markdown() == (
        r"![A \[b\](c) # \*d\*](my%20x%5D%28y%29.svg)" + "\n\n" + r"Lines \<img src=x\> of \_all\_ \| \`e\`." + "\n"
    )


def test_twelve_arms_stay_readable(fabricate: Fabric) -> None:
    names = ("none", "batch", "layer", "instance", "group", "weight", "mean_only", "rms", "spectral", "online")
    arms = {name: {"norm": name} for name in names}
    arms |= {f"batch at rate {rate}": {"norm": "batch"} for rate in (0.3, 1.0)}
    many = full(fabricate, arms=arms, grid={"seed": [0, 1], "batch_size": [8, 16]})
    for kind in ("curves", "against", "bars", "heat", "multiples", "steps_to_target"):
        figure = many.figure(kind=kind, **FIGURE[kind], **({} if "axis" in FIGURE[kind] else HERE))
        assert_clean(figure)
        if kind in ("curves", "against", "multiples"):
            shown = {text.get_text().lower() for text in texts(figure)}
            assert len(shown & {of_arm(name).lower() for name in arms}) == 12


def test_a_legend_is_below_and_takes_no_width(two: Made) -> None:
    figure = two.figure(kind="against", metric="test/accuracy", axis="batch_size", log=["x"])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    (axes,) = figure.axes
    assert legend.get_window_extent().y1 <= axes.get_tightbbox().y0  # type: ignore[union-attr]
    assert axes.bbox.width > 0.85 * figure.bbox.width


@pytest.mark.parametrize("style", ["page", "paper", "slide"])
def test_a_sample_in_the_legend_shows_dashes_at_both_sides_of_its_mark(fabricate: Fabric, style: str) -> None:
    """One mark and two dashes looked like a solid line."""
    arms = {"BN": {"norm": "batch"}, "BN, fast": {"norm": "batch"}, "No norm": {"norm": "none"}}
    chart = full(fabricate, arms=arms, grid={"seed": [0, 1], "batch_size": [8, 16]}).chart(
        kind="against", **FIGURE["against"]
    )
    with settings(theme(style)):
        (legend,) = draw(chart, theme(style)).legends
    for name, sample in zip(chart.styles, legend.get_lines(), strict=True):
        dashes = [each * sample.get_linewidth() for each in chart.styles[name].dashes]
        assert np.ptp(sample.get_xdata()) >= 2 * sum(dashes) + sum(dashes[:1]) - 0.01
    assert any(chart.styles[name].dashes for name in chart.styles)


def test_a_paper_has_its_title_in_the_caption_alone(two: Made) -> None:
    assert two.figure(kind="curves", metric="test/loss", **HERE).get_suptitle()
    chart = two.chart(kind="curves", metric="test/loss", **HERE)
    with settings(theme("paper")):
        assert not draw(chart, theme("paper")).get_suptitle()


def test_examples_are_not_joined_by_lines(two: Made) -> None:
    spec = {"kind": "lines", "table": "surface", "x": "w", "y": "loss", "by": "b", "joined": False, **HERE}
    figure = two.figure(**spec, arms=["With BN"])
    marked = [line for line in figure.axes[0].lines if line.get_marker() not in ("", "None")]
    assert [line.get_linewidth() for line in marked] == [0.0, 0.0, 0.0]
    assert len({line.get_marker() for line in marked}) == 3


def test_the_name_of_a_reference_is_beside_the_panel(two: Made) -> None:
    """Inside, curves would run through it."""
    figure = two.figure(kind="curves", metric="test/loss", reference=[{"at": 0.5, "text": "the best"}], **HERE)
    figure.draw_without_rendering()
    (name,) = [text for text in figure.findobj(Text) if text.get_text() == "the best"]
    assert name.get_window_extent().x0 >= figure.axes[0].bbox.x1


def test_smoke_scale_is_marked_a_preview(fabricate: Fabric) -> None:
    smoke = full(fabricate, "smoke", grid={"seed": [0, 1], "batch_size": [8]})
    for kind in ("curves", "bars", "heat"):
        found = smoke.figure(kind=kind, **FIGURE[kind]).findobj(Text)
        assert "preview" in [text.get_text() for text in found], kind


def test_an_arm_has_its_mean_over_the_runs_still_finite(two: Made) -> None:
    figure = two.figure(kind="curves", metric="test/accuracy", **HERE)
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 11]
    assert len(lines) == 2
    assert len([line for line in figure.axes[0].lines if line.get_marker() == "x"]) == 1
    said = two.caption(kind="curves", metric="test/accuracy", **HERE)
    assert "Plain, 1 of 3 diverged" in said
    assert "Lines: mean over 3 runs; bands: ± 1 standard deviation." in said


def test_curves_over_epochs_and_their_labels(two: Made) -> None:
    figure = two.figure(kind="curves", metric="test/accuracy", x="epoch", labels={"x": "epochs"}, **HERE)
    assert figure.axes[0].get_xlim() == (0.0, 5.0)
    assert [figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()] == ["epochs", "test accuracy (%)"]


def test_published_curve_and_limits_at_paper_scale_only(two: Made) -> None:
    spec = {"kind": "curves", "metric": "test/accuracy", "caption": "With noise.", **HERE, "limits": [0.2, 1.0]}
    spec |= {"published_caption": "Dashed: published."}
    spec |= {"published": {"Plain": {"step": [10, 90], "value": [0.5, 0.9]}}}
    assert "With noise. Lines" in two.caption(**spec)
    assert "Dashed" not in two.caption(**spec)
    assert two.figure(**spec).axes[0].get_ylim()[0] < 20
    paper = Made(two.fabric, replace(two.experiment, scale="paper"))
    copytree(two.fabric.root / "x" / "cpu", two.fabric.root / "x" / "paper")
    assert "With noise. Dashed: published. " in paper.caption(**spec)
    assert paper.figure(**spec).axes[0].get_ylim() == (20, 100)
    assert any(line.get_ydata().tolist() == [50, 90] for line in paper.figure(**spec).axes[0].lines)


def test_zoom_shows_a_part_larger(two: Made) -> None:
    spec = {"kind": "curves", "metric": "test/accuracy", "zoom": {"cpu": [0.8, 0.9]}, **HERE}
    whole, part = two.figure(**spec).axes
    assert part.get_ylim() == (80, 90)
    assert whole.get_ylim()[0] < 20
    assert [line.get_ydata().tolist() for line in whole.lines[:2]] == [
        line.get_ydata().tolist() for line in part.lines[:2]
    ]


def test_of_lines_that_coincide_the_upper_one_has_gaps(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, _: [{"step": step, "test/loss": float(step)} for step in range(3)])
    figure = experiment.figure(kind="curves", metric="test/loss")
    lower, upper = (line._unscaled_dash_pattern for line in figure.axes[0].lines)  # type: ignore[attr-defined]
    assert lower == (0, None)
    assert upper[1] == (TURN, TURN)
    assert "have gaps" in experiment.caption(kind="curves", metric="test/loss")


@pytest.mark.parametrize(("apart", "turn"), [(0.004, True), (0.05, False)])
def test_a_line_within_a_line_width_of_another_has_gaps(fabricate: Fabric, apart: float, turn: bool) -> None:
    """The later one would cover the other, which no reader could tell from one that is missing."""
    experiment = made(fabricate)
    experiment.run(
        lambda arm, point, _: [
            {"step": step, "test/loss": step + (10 * apart if arm == "Plain" else 0)} for step in range(11)
        ]
    )
    spec = {"kind": "curves", "metric": "test/loss"}
    dashes = [line._unscaled_dash_pattern[1] for line in experiment.figure(**spec).axes[0].lines]  # type: ignore[attr-defined]
    assert [bool(each) for each in dashes] == [False, turn]
    assert ("have gaps" in experiment.caption(**spec)) is turn


def test_three_dotted_lines_that_coincide_stay_dotted_each_in_its_turn() -> None:
    dashes = gapped((1.0, 1.4), 3)
    assert sum(dashes) == 3 * TURN
    assert dashes[:-1] == (1.0, 1.4) * 3 + (1.0,)


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


def test_first_seed_unless_said_otherwise(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(learning)
    experiment.tables("own", lambda arm, seed: [{"x": 0, "y": seed}, {"x": 1, "y": seed}])
    heights = [
        experiment.chart(kind="lines", table="own", x="x", y="y", **more).data["y"][0] for more in ({}, {"seed": 2})
    ]
    assert heights == [0, 2]


def test_multiples_have_a_panel_per_layer_or_per_arm(two: Made) -> None:
    layers = two.chart(kind="multiples", statistic="p85", labels={"hidden.0": "first"}, **HERE)
    assert [panel.title for panel in layers.panels.values()] == ["first", "hidden.1"]
    arms = two.chart(kind="multiples", statistic="p85", layers=["hidden.1"], panels="arm", **HERE)
    assert [panel.title for panel in arms.panels.values()] == ["Plain", "With BN"]
    figure = two.figure(kind="multiples", statistic="p85", layers=["hidden.1"], panels="arm", **HERE)
    assert figure.axes[1].lines[0].get_ydata()[-1] == 101  # 100 + the mean of the seeds 0, 1, 2


@pytest.mark.parametrize(("kind", "side"), [("curves", "y"), ("bars", "x")])
def test_a_value_of_0_has_a_place_on_a_logarithmic_axis(fabricate: Fabric, kind: str, side: str) -> None:
    experiment = made(fabricate)
    experiment.run(
        lambda arm, point, _: [{"step": s, "test/loss": 0.0 if arm == "Plain" else 10.0**-s} for s in range(1, 5)]
    )
    figure = experiment.figure(kind=kind, metric="test/loss", log=[side])
    axes = figure.axes[0]
    assert getattr(axes, f"get_{side}scale")() == "symlog"
    low, _ = getattr(axes, f"get_{side}lim")()
    assert -1e-4 < low < 0
    assert "linear around 0" in experiment.caption(kind=kind, metric="test/loss", log=[side])
    assert_clean(figure)


def test_a_caption_says_of_which_logarithmic_axis_0_has_a_place(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, _: [{"step": s, "test/loss": float(s), "loss": 1.0 + s} for s in range(4)])

    def said(metric: str, *log: str) -> str:
        return experiment.caption(kind="curves", metric=metric, log=list(log))

    assert "The horizontal axis is linear around 0" in said("loss", "x", "y")
    assert "Both axes are linear around 0" in said("test/loss", "x", "y")
    assert "The axis is linear around 0" in said("test/loss", "y")
    assert "linear around 0" not in said("loss", "y")


@pytest.mark.parametrize("lowest", [-1e8, -1e-8])
def test_ticks_around_0_stand_apart_between_many_decades(fabricate: Fabric, lowest: float) -> None:
    experiment = made(fabricate)
    experiment.run(
        lambda arm, point, _: [
            {"step": s, "test/loss": max(lowest, -(100.0 ** (s - 4))) if arm == "Plain" else 100.0 ** (s - 4)}
            for s in range(9)
        ]
    )
    assert_clean(experiment.figure(kind="curves", metric="test/loss", log=["y"]))


@pytest.mark.parametrize(("kind", "side"), [("curves", "y"), ("bars", "x")])
def test_ticks_beside_0_stand_apart_where_many_decades_begin_there(fabricate: Fabric, kind: str, side: str) -> None:
    experiment = made(fabricate)
    experiment.run(
        lambda arm, point, _: [
            {"step": s, "test/loss": 0.0 if (arm, s) < ("Q", 1) else 1000.0 ** (s - 4 - 4 * point["seed"])}
            for s in range(9)
        ]
    )
    assert_clean(experiment.figure(kind=kind, metric="test/loss", log=[side]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.002, "0.002"),
        (20000, "20,000"),
        (1.5e6, f"1.5{TIMES}10⁶"),
        (2e-7, f"2{TIMES}10⁻⁷"),
        (-2, f"{MINUS}2"),
    ],
)
def test_ticks_are_short(value: float, text: str) -> None:  # the signs are those that are printed
    assert short(value) == text
    assert [power(10.0**k) for k in (-5, -1, 0, 2, 12)] == ["10⁻⁵", "0.1", "1", "100", "10¹²"]


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "metric": ({"kind": "curves", "metric": "test/acuracy"}, "metric 'test/acuracy' .*did you mean test/accuracy"),
    "one of the metrics": ({"kind": "heat", "metrics": ["test/los"]}, "metric 'test/los' .*did you mean test/loss"),
    "arm": ({"kind": "curves", "metric": "test/loss", "arms": ["Plan"]}, "arm 'Plan' .*did you mean Plain"),
    "axis": ({"kind": "bars", "metric": "test/loss", "axis": "batch"}, "axis 'batch' .*did you mean batch_size"),
    "place": ({"kind": "bars", "metric": "test/loss", "where": {"batch_size": 9}}, "value of batch_size '9'.*8, 16"),
    "relative": ({"kind": "bars", "metric": "test/loss", "relative_to": "Pln"}, "arm 'Pln' .*mean Plain"),
    "layer": ({"kind": "multiples", "statistic": "p85", "layers": ["hiden.0"]}, "'hiden.0' .*did you mean hidden.0"),
    "statistic": ({"kind": "multiples", "statistic": "p58"}, "statistic 'p58' .*p15, p50, p85; did you mean p85"),
    "table": ({"kind": "lines", "table": "surfac", "x": "w", "y": "b"}, "'surfac' .*did you mean surface"),
    "column": ({"kind": "lines", "table": "surface", "x": "w", "y": "los"}, "surface.csv 'los' .*did you mean loss"),
    "dotted": ({"kind": "lines", "table": "surface", "x": "w", "y": "b", "dotted": ["c"]}, "dotted 'c' .*allowed: b"),
    "number": ({"kind": "lines", "table": "boxes", "x": "x0", "y": "label"}, "line 2: label is 'here', not a number"),
    "grid": ({"kind": "contour", "table": "path", "x": "x", "y": "y", "z": "x"}, "regular grid: 3 x 3 .* but 3 rows"),
    "seed": ({"kind": "lines", "table": "path", "x": "x", "y": "y", "seed": 9}, "seed=9 is not in the grid: 0, 1, 2"),
    "recorded layer": ({"kind": "percentiles", "layer": "hidden 9"}, "has nothing on 'hidden 9'"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_name_that_does_not_exist_is_one_line(two: Made, spec: dict[str, Any], message: str) -> None:
    with one_line_error(message) as refused:
        two.draw(**spec)
    assert str(refused.value).startswith("experiment x: figure x")


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "key": ({"kind": "against", "metric": "m", "axis": "a", "lg": ["x"]}, "key 'lg' .*did you mean log"),
    "missing key": ({"kind": "contour", "table": "t", "x": "x", "y": "y"}, "z: is missing"),
    "log axis": ({"kind": "heat", "metric": "m", "axis": "a", "log": ["y"]}, "'y' .*allowed: z"),
    "x": ({"kind": "curves", "metric": "m", "x": "epochs"}, "x: the name 'epochs' .*did you mean epoch"),
    "panels": (
        {"kind": "multiples", "statistic": "s", "panels": "layers"},
        "panels: the name 'layers' .*did you mean layer",
    ),
    "better": ({"kind": "steps_to_target", "metric": "m", "target": 0, "better": "high"}, "did you mean higher"),
    "target": ({"kind": "steps_to_target", "metric": "m", "target": "low"}, "target: 'low' is neither a number"),
    "metric and metrics": ({"kind": "heat", "metric": "m", "metrics": ["m"]}, "give either metric or metrics"),
    "neither axis nor metrics": ({"kind": "heat", "metric": "m"}, "give either axis or metrics"),
    "at": ({"kind": "bars", "metric": "m", "at": "end"}, "at: 'end' is none of last"),
    "limits": ({"kind": "curves", "metric": "m", "limits": [1, 0]}, r"\[1.0, 0.0\] is not \[LOW, HIGH\]"),
    "limits at no scale": ({"kind": "curves", "metric": "m", "limits": {"cpu": [0, 1], "papr": [0, 1]}}, "mean paper"),
    "limits of an axis": ({"kind": "curves", "metric": "m", "limits": {"z": [0, 1]}}, "'z' .*allowed: x, y"),
}


@pytest.mark.parametrize(("spec", "message"), SHAPES.values(), ids=SHAPES)
def test_a_wrong_key_is_one_line_before_anything_runs(spec: dict[str, Any], message: str) -> None:
    with one_line_error(message) as refused:
        parse("x", "cpu", {**BASE, "figures": [{"name": "x", **spec}]})
    assert str(refused.value).startswith("experiment x: figures[0]")


def test_metric_without_a_direction_needs_to_be_told(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, random: [{"step": 0, "norm": 1.0}, {"step": 10, "norm": 3.0}])
    with pytest.raises(UserError, match="does not tell what is better; add better"):
        experiment.draw(kind="steps_to_target", metric="norm", target=2)
    assert experiment.draw(kind="steps_to_target", metric="norm", target=2, better="higher")
    with pytest.raises(UserError, match="record no epoch"):
        experiment.draw(kind="curves", metric="norm", x="epoch")


def test_unfinished_runs_are_left_out_and_none_at_all_is_one_line(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.statuses = {("Plain", seed): "running" for seed in range(3)}
    experiment.run(learning)
    assert experiment.draw(kind="curves", metric="test/loss")
    with pytest.raises(UserError, match="no run of its arms is finished"):
        experiment.draw(kind="curves", metric="test/loss", arms=["Plain"])
    with pytest.raises(UserError, match="no run with seed 0 is finished"):
        experiment.draw(kind="lines", table="t", x="x", y="y", arms=["Plain"])


def test_arms_differ_where_runs_do(two: Made) -> None:
    ends = two.chart(kind="bars", metric="test/accuracy", **HERE).data
    assert ends.groupby("line")["ended"].sum().to_dict() == {"Plain": 1, "With BN": 0}
    assert np.isfinite(ends.loc[~ends["ended"], "value"]).all()


@pytest.mark.parametrize(("low", "high"), [(0.9, 3.9), (0.85, 2.4), (0.57, 1.3)])
def test_a_short_logarithmic_axis_of_ratios_has_a_tick_at_1(low: float, high: float) -> None:
    ax = Figure().subplots()
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    set_ticks(ax.xaxis, low, high)
    assert 1.0 in ax.get_xticks()


def test_of_ticks_that_would_touch_some_are_not_written() -> None:
    ax = Figure(figsize=(6.4, 4.8)).subplots(1, 3)[0]
    ax.set_xscale("log")
    ax.set_xlim(2e-4, 1.5)
    rates = [2.5e-4 * 4**i for i in range(7)]
    assert _written(ax, {rate: short(rate) for rate in rates}, theme())[::2] == [short(rate) for rate in rates[::2]]
    assert _written(ax, {rate: short(rate) for rate in rates}, theme())[1::2] == [""] * 3
    assert _written(ax, {0.01: "0.01", 1.0: "1"}, theme()) == ["0.01", "1"]
