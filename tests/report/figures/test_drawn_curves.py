"""Curves, their bands, and lines that coincide."""

from dataclasses import replace
from shutil import copytree

import pytest
from drawn import Made, learning, made
from fabricated import Fabric
from figure_kinds import HERE

from normexp.records import find_runs
from normexp.report.figures.captions import caption
from normexp.report.figures.hidden import TURN, gapped
from normexp.report.figures.runs import curves_of, legend
from normexp.report.frames.reading import experiment_frame, folder_frame, joined


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


@pytest.mark.parametrize(
    "spec", [{"kind": "curves"}, {"kind": "against", "axis": "optim.lr"}], ids=["curves", "points with bars"]
)
def test_of_lines_that_coincide_the_upper_one_has_gaps(fabricate: Fabric, spec: dict[str, str]) -> None:
    """Of points with bars it was the points that lie on the line, which have none."""
    experiment = made(fabricate, grid={"seed": [0], "optim.lr": [0.1, 0.2, 0.3]} if "axis" in spec else {"seed": [0]})
    experiment.run(lambda arm, point, _: [{"step": step, "test/loss": float(step)} for step in range(3)])
    figure = experiment.figure(metric="test/loss", **spec)
    drawn = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 3]
    lower, upper = (line._unscaled_dash_pattern for line in drawn)  # type: ignore[attr-defined]
    assert lower == (0, None)
    assert upper[1] == (TURN, TURN)
    assert "have gaps" in experiment.caption(metric="test/loss", **spec)


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


def test_lines_of_two_experiments_are_named_by_the_axes_that_each_has(fabricate: Fabric) -> None:
    """The one without an axis was called `With BN, batch size nan`, and 16 became 16.0 beside it."""
    swept = made(fabricate, grid={"seed": [0], "batch_size": [8, 16]}, arms={"Plain": {"norm": "none"}})
    alone = made(fabricate, grid={"seed": [0]}, arms={"With BN": {"norm": "batch"}}, name="y")
    for each in (swept, alone):
        each.run(learning)
    frame = joined([experiment_frame(each.experiment, fabricate.root) for each in (swept, alone)])
    names = ["Plain, batch size 8", "Plain, batch size 16", "With BN"]
    assert list(curves_of(frame).styles) == names
    assert [name for name, _ in legend(frame).values()] == names


@pytest.mark.parametrize(
    ("value", "name"), [(1.0, "1"), (0.3, "0.3"), (2000, "2,000"), (0.001, "0.001"), (0.1234567, "0.1234567")]
)
def test_a_value_in_the_legend_is_written_as_on_an_axis(fabricate: Fabric, value: float, name: str) -> None:
    experiment = made(fabricate, grid={"seed": [0], "optim.lr": [value]})
    experiment.run(learning)
    assert f"Plain, learning rate {name}" in experiment.chart(kind="curves", metric="test/loss").styles


def test_a_caption_counts_what_diverged_in_each_panel(fabricate: Fabric) -> None:
    """The last panel's number stood for all of them."""
    for seed in range(2):
        fabricate(norm="batch", seed=seed, status=("done", "diverged")[seed])
        fabricate(norm="batch", seed=seed, dataset="mnist", status="diverged")
        fabricate(norm="layer", seed=seed, status=("done", "diverged")[seed])
    text = caption(curves_of(folder_frame(find_runs([fabricate.root]))))
    ended = "Batch norm, 1 of 2 diverged (digits · cnn); Batch norm, 2 of 2 diverged (mnist · cnn)"
    assert f"over the others: {ended}; Layer norm, 1 of 2 diverged." in text


def test_a_part_shown_larger_counts_no_run_twice(fabricate: Fabric) -> None:
    experiment = made(fabricate, grid={"seed": [0, 1], "batch_size": [8, 16]})
    experiment.statuses = {("Plain", 1): "diverged"}
    experiment.run(learning)
    zoom = {"cpu": {"x": [8, 10]}}
    text = experiment.caption(kind="against", metric="test/accuracy", axis="batch_size", zoom=zoom)
    assert "diverged there, 2 of Plain;" in text
