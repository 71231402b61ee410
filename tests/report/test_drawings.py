"""Every kind of figure from made-up records: it is drawn, clean, the same again, and shows what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import TWELVE, Made, learning, made
from fabricated import Fabric
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from normexp.errors import UserError
from normexp.evidence.curves import Cell
from normexp.experiments.shape import FIGURES, SCALES
from normexp.report.colors import Look, color
from normexp.report.experiment.drawings import KINDS
from normexp.report.experiment.drawings.axis import Axis, short
from normexp.report.experiment.drawings.bands import band
from normexp.report.experiment.drawings.intervals import centre
from normexp.report.experiment.drawings.panels import Line, _end
from normexp.report.experiment.drawings.path import path
from normexp.report.experiment.drawings.steps_to_target import NEVER_X
from normexp.report.experiment.drawings.tables import Table

FIGURE: dict[str, dict[str, Any]] = {
    "curves": {"metric": "test/loss", "log": ["y"]},
    "percentiles": {"layer": "hidden.0"},
    "steps_to_target": {"metric": "test/accuracy", "target": 0.9},
    "against": {"metric": "test/accuracy", "axis": "batch_size", "log": ["x"]},
    "bars": {"metric": "test/loss", "axis": "batch_size", "log": ["x"]},
    "contour": {"table": "surface", "x": "w", "y": "b", "z": "loss", "path": "path", "log": ["z"]},
    "lines": {"table": "surface", "x": "w", "y": "loss", "by": "b", "panels": "arm", "boxes": "boxes"},
    "multiples": {"statistic": ["p15", "p85"], "layers": "all"},
    "heat": {"metric": "test/accuracy", "axis": "batch_size"},
}


def surface(arm: str) -> list[dict[str, object]]:
    places = [(w, b) for w in (-2.0, -1.0, 0.0, 1.0, 2.0) for b in (-1.0, 0.0, 1.0)]
    return [{"w": w, "b": b, "loss": w * w + b * b + 0.01} for w, b in places]


def probes(arm: str, seed: int) -> list[dict[str, object]]:
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
    experiment.tables("path", lambda arm: [{"x": -1.5, "y": 0.5}, {"x": 1.0, "y": -0.5}, {"x": 5.0, "y": 0.0}])
    experiment.tables("boxes", lambda arm: [{"x0": -2, "x1": 0, "y0": 0.5, "y1": 2, "label": "here"}])
    experiment.tables("negative", lambda arm: [{"x0": -2, "x1": 0, "y0": -0.5, "y1": 2, "label": "here"}])
    return experiment


def texts(figure: Figure) -> Iterator[Text]:
    """Yield every text that is seen."""
    yield from figure.texts
    for legend in figure.legends:
        yield from legend.get_texts()
    for axes in figure.axes:
        yield from (text for text in axes.texts if text.get_text() != "preview")
        yield axes.title if axes.title.get_text() else axes._left_title  # type: ignore[attr-defined]
        for side, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            yield side.label
            inside = [min(low, high) <= place <= max(low, high) for place in side.get_majorticklocs()]
            yield from (text for text, seen in zip(side.get_ticklabels(), inside, strict=True) if seen)


def assert_clean(figure: Figure) -> None:
    """No text overlaps another one or is cut, at the resolution of the files."""
    figure.set_dpi(200)
    figure.canvas.draw()
    shown = [text for text in texts(figure) if text.get_text() and text.get_visible()]
    boxes = [text.get_window_extent().padded(-1) for text in shown]
    page = figure.bbox
    for text, box in zip(shown, boxes, strict=True):
        assert page.x0 <= box.x0 < box.x1 <= page.x1, text
        assert page.y0 <= box.y0 < box.y1 <= page.y1, text
    for i, one in enumerate(boxes):
        for text, other in zip(shown[:i], boxes[:i], strict=True):
            assert not one.overlaps(other), (shown[i], text)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return full(Fabric(tmp_path_factory.mktemp("two")), grid={"seed": [0, 1, 2], "batch_size": [8, 16]})


def test_schema_and_drawings_have_the_same_kinds() -> None:
    assert list(KINDS) == list(FIGURES)
    assert set(FIGURE) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_clean_and_the_same_again(two: Made, kind: str) -> None:
    FIGURES[kind].check("figure", {"name": "x", "kind": kind, **FIGURE[kind]})
    drawn = two.draw(kind=kind, **FIGURE[kind])
    assert set(drawn) == {"x.png", "x.svg"}
    assert drawn["x.png"].startswith(b"\x89PNG")
    assert str(two.fabric.root).encode() not in drawn["x.svg"]
    assert two.draw(kind=kind, **FIGURE[kind]) == drawn
    assert_clean(two.figure(kind=kind, **FIGURE[kind]))


def test_twelve_arms_stay_readable(fabricate: Fabric) -> None:
    many = full(fabricate, arms=TWELVE, grid={"seed": [0, 1], "batch_size": [8, 16]})
    for kind, spec in FIGURE.items():
        here = {} if "axis" in spec else {"where": {"batch_size": 8}}
        assert_clean(many.figure(kind=kind, **spec, **here))


def test_smoke_scale_is_marked_a_preview(fabricate: Fabric) -> None:
    smoke = full(fabricate, "smoke", grid={"seed": [0, 1], "batch_size": [8]})
    for kind, spec in FIGURE.items():
        marks = [text for text in smoke.figure(kind=kind, **spec).findobj(Text) if text.get_text() == "preview"]
        assert marks, kind


def captions(figure: Figure) -> str:
    return " ".join(figure.texts[-1].get_text().split())


def test_band_on_a_logarithmic_axis_is_from_the_lowest_to_the_highest_seed(two: Made) -> None:
    """Mean - sd of (1, 1, 10) is below 0, and a logarithmic axis would draw it down to its foot."""
    x = np.array([0.0, 1.0])
    runs = [(x, np.array([value, value])) for value in (1.0, 1.0, 10.0)]
    _, mean, low, high = band(runs, log=True)
    assert (mean.tolist(), low.tolist(), high.tolist()) == ([4, 4], [1, 1], [10, 10])
    assert band(runs, log=False)[2] == pytest.approx([4 - math.sqrt(27)] * 2)
    assert "from the lowest to the highest seed" in captions(two.figure(kind="curves", metric="test/loss", log=["y"]))
    assert "± 1 standard deviation" in captions(two.figure(kind="curves", metric="test/loss"))


def test_bands_use_the_steps_that_all_seeds_have() -> None:
    long, short_run = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0])
    x, mean, *_ = band([(long, long), (short_run, 3 * short_run)], log=False)
    assert (x.tolist(), mean.tolist()) == ([0, 2], [0, 4])


def test_curves_over_epochs(two: Made) -> None:
    (axes,) = two.figure(kind="curves", metric="test/accuracy", x="epoch").axes
    assert axes.get_xlim() == (0.0, 5.0)
    assert axes.get_xlabel() == "epoch"


def test_published_curve_is_drawn_at_paper_scale_only(two: Made) -> None:
    spec = {"kind": "curves", "metric": "test/accuracy", "where": {"batch_size": 8}, "caption": "Dashed: published."}
    spec |= {"published": {"Plain": {"step": [10, 90], "value": [0.5, 0.9]}}, "limits": [0.2, 1.0]}
    assert "Dashed" not in captions(two.figure(**spec))
    paper = replace(two.subject(**spec), experiment=replace(two.experiment, scale="paper"), found=two.subject().found)
    figure = KINDS["curves"](paper)
    assert "Dashed" in captions(figure)
    assert figure.axes[0].get_ylim() == (20, 100)
    assert any(line.get_ydata().tolist() == [50, 90] for line in figure.axes[0].lines if len(line.get_ydata()) == 2)


def test_limits_of_a_scale_are_for_that_scale(two: Made) -> None:
    spec = {"kind": "curves", "metric": "test/accuracy", "where": {"batch_size": 8}}
    spec |= {"limits": {"smoke": {"x": [20, 60]}, "paper": [0.2, 1.0]}}
    at = {scale: replace(two.subject(**spec), experiment=replace(two.experiment, scale=scale)) for scale in SCALES}
    (x, y), usual = KINDS["curves"](at["smoke"]).axes[0].axis()[:2], KINDS["curves"](at["cpu"]).axes[0].axis()
    assert ((x, y), usual[:2]) == ((20, 60), (0, 100))
    assert KINDS["curves"](at["paper"]).axes[0].get_ylim() == (20, 100)


def test_an_exploding_diverged_run_does_not_set_the_scale(fabricate: Fabric) -> None:
    def explode(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
        rows = learning(arm, point, random)
        return [*rows, {**rows[-1], "step": 110, "test/loss": 1e30}] if (arm, point["seed"]) == ("Plain", 1) else rows

    experiment = made(fabricate)
    experiment.statuses = {("Plain", 1): "diverged"}
    experiment.run(explode)
    figure = experiment.figure(kind="curves", metric="test/loss")
    assert figure.axes[0].get_ylim()[1] < 10
    assert "Crosses" in captions(figure)


def dots(axes: Axes, marker: str = "o") -> list[tuple[float, float, bool]]:
    """Return (x, y, whether in the `never` column) of every mark."""
    marks = [line for line in axes.lines if line.get_marker() == marker]
    places = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks]
    return [(*place, line.get_transform() != axes.transData) for place, line in zip(places, marks, strict=True)]


def test_runs_that_never_reach_the_target_stand_in_their_column(fabricate: Fabric) -> None:
    ends = {("Plain", 0): 0.5, ("Plain", 1): 0.6, ("Plain", 2): 0.95}

    def table(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
        end = ends.get((arm, point["seed"]), 0.99)
        return [{"step": step, "test/accuracy": end * step / 100} for step in range(0, 101, 10)]

    experiment = made(fabricate)
    experiment.statuses = {("With BN", 0): "diverged"}
    experiment.run(table)
    figure = experiment.figure(kind="steps_to_target", metric="test/accuracy", target=0.9)
    (axes,) = figure.axes
    plain = [(x, never) for x, y, never in dots(axes) if y > -1.5]
    assert sorted(never for _, never in plain) == [False, True, True]
    assert [x for x, never in plain if not never] == [100]
    assert all(x > NEVER_X for x, never in plain if never)
    assert [never for _, y, never in dots(axes, "|") if y > -1.5] == [True]  # two of three: the median is never
    assert [x for x, *_ in dots(axes, "x")] == [100]  # it diverged, but after it had got there
    assert "Never: not within the steps trained, at most 100." in captions(figure)


def test_target_may_be_the_best_of_an_arm_with_the_same_seed(two: Made) -> None:
    figure = two.figure(kind="steps_to_target", metric="test/loss", target="best of With BN", where={"batch_size": 8})
    own = [x for x, y, _ in dots(figure.axes[0]) if y < -1.5]
    best = [run.step[run.columns["test/loss"].argmin()] for run in two.subject(kind="x").found.curves[cell(8)].values()]
    assert sorted(own) == sorted(best)


def cell(batch_size: int) -> Cell:
    return Cell("With BN", (("batch_size", batch_size),))


def test_interval_is_of_the_converged_seeds_and_of_the_logarithms_on_a_log_axis() -> None:
    found = centre({0: 1.0, 1: 100.0, 2: math.inf}, log=True)
    assert found.mean == pytest.approx(10)
    assert found.mean / found.low == pytest.approx(found.high / found.mean)
    assert (found.counted, found.lost) == ("2/3 converged", True)
    assert centre({0: 1.0, 1: 3.0}, log=False).low == pytest.approx(2 - 12.706204736)
    assert math.isnan(centre({0: 1.0}, log=False).low)


def test_against_counts_who_converged(two: Made) -> None:
    figure = two.figure(kind="against", metric="test/accuracy", axis="batch_size")
    written = [text.get_text() for text in figure.axes[0].texts]
    assert written.count("2/3") == 2
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["8", "16"]
    bars = [line for line in figure.axes[0].collections if isinstance(line, LineCollection)]
    assert len(bars) == 2


def test_axis_of_an_accuracy_ends_at_100_percent(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, random: [{"step": 0, "test/accuracy": 0.7 + 0.1 * point["seed"]}])
    for kind in ("bars", "curves"):
        (axes,) = experiment.figure(kind=kind, metric="test/accuracy").axes
        low, high = axes.get_xlim() if kind == "bars" else axes.get_ylim()
        assert high < 106, (low, high)


def test_heat_prints_the_mean_of_the_converged_and_how_many(two: Made) -> None:
    spec = {"kind": "heat", "metric": "test/accuracy", "axis": "batch_size"}
    written = [text.get_text() for text in two.figure(**spec).axes[0].texts]
    assert [("\n2/3 conv." in text) for text in written] == [True, True, False, False]
    runs = two.subject(**spec).found.curves[cell(16)].values()
    assert written[3] == f"{100 * np.mean([run.columns['test/accuracy'][-1] for run in runs]):.1f}"


def test_heat_over_an_arm_prints_ratios_paired_by_seed(two: Made) -> None:
    spec = {"kind": "heat", "metric": "test/loss", "axis": "batch_size", "over": "With BN"}
    figure = two.figure(**spec)
    written = [text.get_text() for text in figure.axes[0].texts]
    assert written[2:] == ["1.00", "1.00"]
    curves = two.subject(**spec).found.curves
    plain, other = (curves[Cell(arm, (("batch_size", 16),))] for arm in ("Plain", "With BN"))
    ends = {seed: run.columns["test/loss"][-1] for seed, run in plain.items() if not run.diverged}
    ratio = np.mean([end / other[seed].columns["test/loss"][-1] for seed, end in ends.items()])
    assert written[1] == f"{ratio:.2f}\n2/3 conv."
    assert "Test loss over that of With BN: mean" in captions(figure)


def test_heat_of_several_metrics_has_a_column_for_each(two: Made) -> None:
    (axes,) = two.figure(kind="heat", metrics=["test/accuracy", "test/loss"]).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["test accuracy\n(%)", "test loss"]


def test_path_is_cut_where_it_leaves_the_picture(tmp_path: Path) -> None:
    rows = [{"x": "0", "y": "0"}, {"x": "1", "y": "1"}, {"x": "5", "y": "1"}, {"x": "0", "y": "0"}]
    square = Axis(-3.0, 3.0, log=False)
    found = path(Table("figure", tmp_path, rows), square, square)
    assert list(zip(found.x, found.y, strict=True)) == [(0, 0), (1, 1), (3, 1)]
    assert found.note("A") == "A: the path leaves the picture in step 2 of 3 (arrow)."
    inside = path(Table("figure", tmp_path, rows[:2]), square, square)
    assert (len(inside.x), inside.note("A")) == (2, "")
    assert (
        path(Table("figure", tmp_path, rows[2:]), square, square).note("A") == "A: the path starts outside the picture."
    )


def test_contour_levels_are_equally_many_decades_apart(two: Made) -> None:
    figure = two.figure(kind="contour", **FIGURE["contour"])
    levels = figure.axes[0].collections[0].levels  # type: ignore[attr-defined]
    ratios = levels[1:] / levels[:-1]
    assert ratios == pytest.approx(ratios[0])
    assert "leaves the picture in step 2 of 2" in captions(figure)


def test_lines_are_named_by_what_tells_them_apart(two: Made) -> None:
    (axes,) = two.figure(kind="lines", table="path", x="x", y="y", where={"batch_size": 8}).axes
    assert {text.get_text() for text in axes.texts} == {"Plain", "With BN"}  # `where` has said the batch size
    figure = two.figure(kind="lines", table="surface", x="w", y="loss", by="b", panels="arm")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b -1.0", "b 0.0", "b 1.0"]


def test_a_line_is_named_where_it_is_last_seen() -> None:
    ends = _end(Line("", Look("black"), np.arange(11.0), np.arange(11.0)), Axis(0, 5, False), Axis(-1, 11, False))
    assert (ends.x, ends.y) == (1.0, 0.5)
    x, y = Axis(1, 4, False), Axis(1e-3, 1, True, beyond="0")
    line = Line("", Look("black"), np.arange(1.0, 5.0), np.array([1.0, 0.1, 0.01, 0.0])).placed(x, y)
    assert _end(line, x, y).y == pytest.approx(y.fraction(y.zero)) == pytest.approx(0.045)


def test_ticks_of_whole_numbers_are_whole(two: Made) -> None:
    two.tables("depth", lambda arm: [{"depth": depth, "value": depth / 7} for depth in range(1, 4)])
    (axes,) = two.figure(kind="lines", table="depth", x="depth", y="value", where={"batch_size": 8}).axes
    assert all(place == int(place) for place in axes.get_xticks())
    assert not all(place == int(place) for place in axes.get_yticks())


def test_one_seed_has_neither_band_nor_interval(fabricate: Fabric) -> None:
    experiment = made(fabricate, grid={"seed": [0], "batch_size": [8, 16]})
    experiment.run(learning)
    assert "so no band" in captions(experiment.figure(kind="curves", metric="test/loss"))
    assert "so no interval" in captions(experiment.figure(kind="bars", metric="test/loss"))
    assert "One seed each" in captions(experiment.figure(kind="heat", metrics=["test/loss"]))


def test_first_seed_unless_said_otherwise(fabricate: Fabric) -> None:
    experiment = full(fabricate)
    for _, point, run in experiment.places():
        (run.path / "own.csv").write_text(f"x,y\n0,{point['seed']}\n1,{point['seed']}\n")

    def height(**more: Any) -> float:
        (axes,) = experiment.figure(kind="lines", table="own", x="x", y="y", **more).axes
        return float(axes.lines[0].get_ydata()[0])

    assert (height(), height(seed=2)) == (0, 2)


def test_multiples_have_a_panel_per_layer_or_per_arm(two: Made) -> None:
    layers = two.figure(kind="multiples", statistic="p85", where={"batch_size": 8})
    assert [axes.get_title(loc="left") for axes in layers.axes] == ["hidden.0", "hidden.1"]
    arms = two.figure(kind="multiples", statistic="p85", layers=["hidden.1"], panels="arm", where={"batch_size": 8})
    names = [" ".join(axes.get_title(loc="left").split()) for axes in arms.axes]
    assert names == ["Plain (2/3 converged)", "With BN"]
    (line,) = arms.axes[1].lines
    assert line.get_ydata()[-1] == 101  # 100 + the mean of the seeds 0, 1, 2


def test_an_arm_has_its_scheme_s_colour_and_arms_of_one_scheme_other_dashes(two: Made) -> None:
    subject = two.subject(kind="curves")
    assert subject.color(Cell("With BN")) == "#0072B2"
    arms = {"a": {"norm": "batch"}, "b": {"norm": "batch"}}
    shared = replace(subject, experiment=replace(subject.experiment, arms=arms)).looks
    assert shared["a"].color == shared["b"].color
    assert shared["a"].dashes != shared["b"].dashes
    free = replace(subject, experiment=replace(subject.experiment, arms={"a": {}, "b": {}})).looks
    assert free["a"].color != free["b"].color


def test_rows_have_colours_only_where_no_two_schemes_share_one(two: Made, fabricate: Fabric) -> None:
    def names(experiment: Made) -> set[object]:
        (axes,) = experiment.figure(kind="bars", metric="test/loss").axes
        return {tick.get_color() for tick in axes.get_yticklabels()}

    assert names(two) == {color("none"), color("batch")}
    assert color("switchable") == color("rms")
    crowd = made(fabricate, arms={name: {"norm": name} for name in ("batch", "rms", "switchable")})
    crowd.run(learning)
    assert names(crowd) == {"black"}


def test_several_lines_of_one_arm_go_from_dark_to_light(two: Made) -> None:
    subject = two.subject(kind="curves")
    points = [Cell("With BN", (("batch_size", size),)) for size in (8, 16)]
    looks = [subject.looks_of(points)[point] for point in points]
    assert [look.dashes for look in looks] == [(), ()]
    dark, light = (sum(int(look.color[i : i + 2], 16) for i in (1, 3, 5)) for look in looks)
    assert dark < light
    both = subject.looks_of([*points, Cell("Plain", points[0].point)])
    assert [both[point].color for point in points] == [subject.color(Cell("With BN"))] * 2
    assert both[points[0]].dashes != both[points[1]].dashes


# --- Values of 0 on a logarithmic axis. ---


def zeros(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
    """Return a run of positive values; of the second arm all are exactly 0."""
    unit = 0.0 if arm == "With BN" else float(point["batch_size"] * 10 ** point["seed"])
    return [{"step": s, "epoch": s, "test/loss": unit * 10.0**-s} for s in range(1, 5)]


def zero_rows(arm: str) -> list[dict[str, object]]:
    return [{"a": a, "b": 0.0 if arm == "With BN" else 10.0**-a} for a in range(1, 5)]


AT_ZERO: dict[str, dict[str, Any]] = {
    "curves": {"kind": "curves", "metric": "test/loss", "log": ["y"]},
    "against": {"kind": "against", "metric": "test/loss", "axis": "batch_size", "log": ["y"]},
    "bars": {"kind": "bars", "metric": "test/loss", "axis": "batch_size", "log": ["x"]},
    "lines": {"kind": "lines", "table": "zeros", "x": "a", "y": "b", "log": ["y"]},
    "multiples": {"kind": "multiples", "statistic": "p50", "log": ["y"]},
    "percentiles": {"kind": "percentiles", "layer": "hidden", "log": ["y"]},
    "steps_to_target": {"kind": "steps_to_target", "metric": "test/loss", "target": 0.5, "log": ["x"]},
}


@pytest.fixture(scope="module")
def at_zero(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two arms, one of them exactly 0 wherever a figure may look; it reaches its target after 0 steps."""
    folder = tmp_path_factory.mktemp("zero")
    experiment = made(Fabric(folder), grid={"seed": [0, 1, 2], "batch_size": [8, 16]})
    experiment.run(
        lambda arm, point, random: [
            {"step": 0, "epoch": 0, "test/loss": 0.0 if arm == "With BN" else 1e4},
            *zeros(arm, point, random),
        ]
    )
    experiment.tables("zeros", zero_rows)
    experiment.probes(
        lambda arm, seed: [
            {"step": row["a"], "probe": "percentiles", "layer": "hidden", "statistic": "p50", "value": row["b"]}
            for row in zero_rows(arm)
        ]
    )
    return experiment


@pytest.mark.parametrize("kind", AT_ZERO)
def test_a_value_of_0_is_drawn_beyond_the_foot_of_a_logarithmic_axis(at_zero: Made, kind: str) -> None:
    spec = AT_ZERO[kind]
    figure = at_zero.figure(**spec)
    assert_clean(figure)
    assert "Beyond the dotted line, at 0" in captions(figure)
    coordinate = 1 if "y" in spec["log"] else 0
    found = 0
    for axes in figure.axes:
        side = (axes.xaxis, axes.yaxis)[coordinate]
        labels = {text.get_text(): text.get_position()[coordinate] for text in side.get_ticklabels()}
        zero = labels["0"]
        assert side.get_view_interval()[0] < zero < min(t for t in side.get_majorticklocs() if t != zero)
        at_0 = [line for line in axes.lines if (np.asarray(line.get_data()[coordinate]) == zero).any()]
        assert {line.get_color() for line in at_0} <= {"#0072B2"}
        found += len(at_0)
    assert found


def test_a_value_of_0_of_some_seeds_is_drawn_and_is_in_no_geometric_mean(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, _: [{"step": 5, "test/loss": (0.0, 1.0, 100.0)[point["seed"]]}])
    figure = experiment.figure(kind="bars", metric="test/loss", log=["x"])
    assert "No value of 0 or below enters a mean" in captions(figure)
    zero = figure.axes[0].get_xticks()[0]
    assert any(zero in np.atleast_1d(line.get_xdata()) for line in figure.axes[0].lines)
    assert centre({0: 0.0, 1: 1.0, 2: 100.0}, log=True).mean == pytest.approx(10)
    assert centre({0: 0.0, 1: 0.0}, log=True).mean == 0
    assert math.isnan(centre({0: 0.0, 1: 0.0}, log=True).low)


def test_strip_is_there_only_for_what_has_no_place() -> None:
    values = [np.array([1e-3, 1.0, np.nan])]
    plain, zero = Axis.over(values, log=True), Axis.over([*values, np.array([0.0])], log=True)
    assert (plain.beyond, plain.bottom) == ("", plain.low)
    assert (zero.beyond, zero.low, zero.high) == ("0", plain.low, plain.high)
    assert zero.bottom < zero.zero < zero.low
    assert zero.fraction(zero.low) == pytest.approx(0.1)
    assert zero.place(np.array([0.0, 0.5])).tolist() == [zero.zero, 0.5]
    assert Axis.over([np.array([1.0, -1.0])], log=True).beyond == "≤ 0"
    assert Axis.over([np.array([1.0, -1.0])], log=False).beyond == ""
    assert Axis.over([np.array([1.0, 0.0])], log=True, limits=[0.1, 10]).bottom == 0.1


@pytest.mark.parametrize("log", [False, True])
def test_axis_of_values_that_differ_by_rounding_is_that_of_one_value(log: bool) -> None:
    axis = Axis.over([np.array([1e-4, math.nextafter(1e-4, 1)])], log)
    assert axis.high / axis.low > 1.09


def test_boxes_behind_lines_make_no_strip(two: Made) -> None:
    """A box from x = -2 on, behind lines with positive values."""
    spec = {**FIGURE["lines"], "log": ["y"], "y": "loss"}
    assert "Beyond" not in captions(two.figure(kind="lines", **{**spec, "boxes": "negative"}))


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.002, "0.002"), (20000, "20000"), (1.5e6, "1.5e6"), (2e-7, "2e-7"), (-3e5, "-3e5")]
)
def test_ticks_are_short(value: float, text: str) -> None:
    assert short(value) == text


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "metric": ({"kind": "curves", "metric": "test/acuracy"}, "metric 'test/acuracy' .*did you mean test/accuracy"),
    "one of the metrics": ({"kind": "heat", "metrics": ["test/los"]}, "metric 'test/los' .*did you mean test/loss"),
    "arm": ({"kind": "curves", "metric": "test/loss", "arms": ["Plan"]}, "arm 'Plan' .*did you mean Plain"),
    "axis": ({"kind": "bars", "metric": "test/loss", "axis": "batch"}, "axis 'batch' .*did you mean batch_size"),
    "place": ({"kind": "bars", "metric": "test/loss", "where": {"batch_size": 9}}, "value of batch_size '9'.*8, 16"),
    "at": ({"kind": "bars", "metric": "test/loss", "at": "end"}, "at='end' is none of last, best, mean, step N"),
    "over": ({"kind": "heat", "metric": "test/loss", "axis": "batch_size", "over": "Pln"}, "arm 'Pln' .*mean Plain"),
    "target": ({"kind": "steps_to_target", "metric": "test/loss", "target": "low"}, "target='low' is neither a number"),
    "rival": ({"kind": "steps_to_target", "metric": "test/loss", "target": "best of Pln"}, "arm 'Pln' .*mean Plain"),
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
    with pytest.raises(UserError, match=message) as refused:
        two.draw(**spec)
    assert str(refused.value).startswith("experiment x: figure x")
    assert "\n" not in str(refused.value)


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "key": ({"kind": "against", "metric": "m", "axis": "a", "lg": ["x"]}, "key 'lg' .*did you mean log"),
    "missing key": ({"kind": "contour", "table": "t", "x": "x", "y": "y"}, "z is missing"),
    "log axis": ({"kind": "heat", "metric": "m", "axis": "a", "log": ["y"]}, "log 'y' .*allowed: z"),
    "x": ({"kind": "curves", "metric": "m", "x": "epochs"}, "x 'epochs' .*did you mean epoch"),
    "panels": ({"kind": "multiples", "statistic": "s", "panels": "layers"}, "panels 'layers' .*did you mean layer"),
    "better": ({"kind": "steps_to_target", "metric": "m", "target": 0, "better": "high"}, "did you mean higher"),
    "metric and metrics": ({"kind": "heat", "metric": "m", "metrics": ["m"]}, "give either metric or metrics"),
    "neither axis nor metrics": ({"kind": "heat", "metric": "m"}, "give either axis or metrics"),
    "limits": ({"kind": "curves", "metric": "m", "limits": [1, 0]}, r"limits of y: \[1, 0\] is not \[LOW, HIGH\]"),
    "limits at a scale": (
        {"kind": "curves", "metric": "m", "limits": {"cpu": [2, 1]}},
        r"limits of y: \[2, 1\] is not",
    ),
    "limits at no scale": (
        {"kind": "curves", "metric": "m", "limits": {"cpu": [0, 1], "papr": [0, 1]}},
        "'papr'.*mean paper",
    ),
    "limits of an axis": ({"kind": "curves", "metric": "m", "limits": {"z": [0, 1]}}, "limits: axis 'z'"),
}


@pytest.mark.parametrize(("spec", "message"), SHAPES.values(), ids=SHAPES)
def test_a_wrong_key_is_one_line_before_anything_runs(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        FIGURES[spec["kind"]].check("experiment x: figure", {"name": "x", **spec})
    assert "\n" not in str(refused.value)


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
