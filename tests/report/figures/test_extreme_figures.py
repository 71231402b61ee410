"""Figures of what is rare: one value in all runs, runs that are all lost, names and columns without room."""

import math

import pandas as pd
import pytest
from drawn import assert_clean, learning, made
from fabricated import Fabric

from normexp.report.figures import glyphs
from normexp.report.figures.chart import Chart, Mark
from normexp.report.figures.formats import settings, theme
from normexp.report.figures.picture import draw
from normexp.report.figures.styles import distinct


@pytest.mark.parametrize(("value", "ends"), [(0.0, (-0.04, 1.0)), (1.0, (95.0, 100.2)), (0.5, (47.5, 52.5))])
@pytest.mark.parametrize(("kind", "side"), [("curves", "y"), ("bars", "x")])
def test_an_axis_of_one_share_does_not_go_on_beyond_0_and_100(
    fabricate: Fabric, kind: str, side: str, value: float, ends: tuple[float, float]
) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, _: [{"step": s, "test/accuracy": value} for s in range(4)])
    axes = experiment.figure(kind=kind, metric="test/accuracy").axes[0]
    assert getattr(axes, f"get_{side}lim")() == pytest.approx(ends)


def test_runs_of_which_nowhere_two_are_finite_are_not_said_to_agree(fabricate: Fabric) -> None:
    experiment = made(fabricate, grid={"seed": [0, 1]})
    experiment.statuses = {(arm, 0): "diverged" for arm in experiment.experiment.arms}
    experiment.run(
        lambda arm, point, _: [{"step": s, "test/loss": s + 1.0 if point["seed"] else math.nan} for s in range(3)]
    )
    caption = experiment.caption(kind="curves", metric="test/loss")
    assert caption.startswith("Lines: mean over 2 runs; no band, since nowhere two of a line are finite. Crosses")


@pytest.mark.slow
def test_a_heat_map_of_long_names_and_many_columns_stays_readable(fabricate: Fabric) -> None:
    arms = {"A very long name, as long as a sentence could ever be": {"norm": "none"}, "BN": {"norm": "batch"}}
    experiment = made(
        fabricate, arms=arms, grid={"seed": [0], "optim.lr": [round(1e-3 * 1.3**i, 5) for i in range(24)]}
    )
    experiment.run(learning)
    assert_clean(experiment.figure(kind="heat", metric="test/accuracy", axis="optim.lr"))


def test_signs_that_the_font_lacks_are_one_line(
    fabricate: Fabric, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    experiment = made(
        fabricate, arms={"Plain 漢字": {"norm": "none"}, "With BN": {"norm": "batch"}}, grid={"seed": [0]}
    )
    experiment.run(learning)
    glyphs._tell.cache_clear()
    for _ in range(2):
        experiment.draw(kind="bars", metric="test/accuracy")
    assert caplog.messages == ["the figures' font has no 漢, 字: boxes stand there in .png and .pdf"]
    assert not recwarn.list


@pytest.mark.slow
def test_a_legend_has_an_end_and_says_how_many_names_are_left_out() -> None:
    names = [f"arm {i}" for i in range(203)]
    rows = pd.DataFrame([{"x": x, "y": 1.0, "arm": name, "run": 0, "ended": False} for name in names for x in range(2)])
    styles = {name: distinct(i) for i, name in enumerate(names)}
    with settings(theme()):
        figure = draw(Chart(rows, "line", colour="arm", styles=styles), theme())
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == [*names[:200], "and 3 more"]
    assert figure.get_figheight() < 12


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["point", "interval", "bar"])
def test_a_figure_of_rows_has_an_end_and_says_how_many_are_left_out(mark: Mark) -> None:
    """Thousands of arms made a picture higher than matplotlib draws."""
    rows = pd.DataFrame([{"x": 1.0 + i, "y": f"arm {i}", "c": "kind", "ended": False} for i in range(1203)])
    colour = {"colour": "c", "styles": {"kind": distinct(0)}} if mark == "bar" else {}
    with settings(theme()):
        figure = draw(Chart(rows, mark, **colour), theme())
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == [*(f"arm {i}" for i in range(200)), "and 1,003 more"]
    assert figure.get_figheight() < 100
