"""Axes, their ticks, and the place of 0 on a logarithmic one."""

import pytest
from drawn import Made, assert_clean, made
from fabricated import Fabric
from matplotlib.figure import Figure

from normexp.report.figures.formats import theme
from normexp.report.figures.lines import _written
from normexp.report.figures.scales import MINUS, TIMES, power, set_ticks, short


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


def test_limits_and_references_are_in_the_unit_of_their_axis(two: Made) -> None:
    """A step was taken for a share, and what rows show as percent was not."""
    x = {"limits": {"cpu": {"x": [0.5, 1.0]}}, "reference": [{"at": 0.75, "text": "here", "axis": "x"}]}
    curves = two.chart(kind="curves", metric="test/accuracy", **x)
    assert [curves.panels[""].x, curves.references[0].at] == [(0.5, 1.0), 0.75]
    bars = two.chart(kind="bars", metric="test/accuracy", axis="batch_size", **x)
    assert [bars.panels[""].x, bars.references[0].at] == [(50.0, 100.0), 75.0]
    over = two.chart(kind="bars", metric="test/accuracy", axis="batch_size", relative_to="Plain", **x)
    assert [over.panels[""].x, over.references[0].at] == [(0.5, 1.0), 0.75]


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
