"""What mean, band and cross mean: one rule for every figure."""

import math
from statistics import stdev
from typing import Any

import numpy as np
import pandas as pd
import pytest

from normexp.report.figures.averages import Line, lines_of, summary
from normexp.report.figures.captions import caption
from normexp.report.figures.chart import Chart, Panel
from normexp.report.figures.formats import settings, theme
from normexp.report.figures.lines import CROSS
from normexp.report.figures.picture import draw
from normexp.report.figures.styles import LineStyle
from normexp.report.metrics import possible


def chart(*runs: dict[int, float], ended: set[int] = frozenset(), **given: Any) -> Chart:  # type: ignore[assignment]
    """Return a chart of one line over runs, each step -> value."""
    rows = [
        {"x": step, "y": value, "run": i, "line": "a", "ended": i in ended}
        for i, run in enumerate(runs)
        for step, value in run.items()
    ]
    given = {"band": "sd", **given}
    return Chart(pd.DataFrame(rows), "line", colour="line", styles={"a": LineStyle("#000000")}, **given)


def line(*runs: dict[int, float], **given: Any) -> Line:
    (found,) = lines_of(chart(*runs, **given), "")
    return found


def test_line_is_the_mean_and_band_the_sample_standard_deviation() -> None:
    found = line({0: 1.0, 10: 5.0}, {0: 2.0, 10: 5.0}, {0: 6.0, 10: 5.0})
    assert found.mean.tolist() == [3.0, 5.0]
    assert found.high.tolist() == [pytest.approx(3 + stdev([1, 2, 6])), 5.0]


def test_a_diverged_run_counts_up_to_its_last_finite_value_and_ends_in_a_cross() -> None:
    found = line({0: 4.0, 10: 3.0, 20: 2.0}, {0: 6.0, 10: 9.0, 20: math.inf}, ended={1})
    assert found.mean.tolist() == [5.0, 6.0, 2.0]
    assert found.crosses == ((10.0, 9.0),)
    said = caption(chart({0: 4.0, 10: 3.0}, {0: 6.0, 10: math.nan}, ended={1}))
    assert "a, 1 of 2 diverged" in said
    assert "From there on the mean is over the others" in said


def test_a_run_that_was_never_finite_has_a_cross_without_a_height() -> None:
    (cross,) = line({0: 1.0, 5: 2.0}, {0: math.nan, 5: math.inf}, ended={1}).crosses
    assert cross[0] == 5
    assert math.isnan(cross[1])


def test_steps_count_only_where_every_run_that_got_there_was_measured() -> None:
    found = line({10: 6.0, 20: 5.0, 30: 4.0}, {30: 8.0})
    assert (found.x.tolist(), found.mean.tolist()) == ([30.0], [6.0])


def test_a_value_before_the_first_measurement_is_no_hole() -> None:
    assert line({0: math.nan, 10: 2.0}, {0: math.nan, 10: 4.0}).mean.tolist() == [3.0]


def test_band_on_a_logarithmic_axis_is_from_the_lowest_to_the_highest_run() -> None:
    """Mean - sd of 3, 0.04, 0.04 is below 0, where no run ever was."""
    runs = ({0: 3.0}, {0: 0.04}, {0: 0.04})
    found = line(*runs, log=frozenset("y"))
    assert (found.low.tolist(), found.high.tolist()) == ([0.04], [3.0])
    assert "from the lowest to the highest run" in caption(chart(*runs, log=frozenset("y")))


def test_bands_of_shares_end_at_0_and_100_percent() -> None:
    found = line({0: 99.0}, {0: 80.0}, panels={"": Panel(possible=(0.0, 100.0))})
    assert found.high.tolist() == [100.0]


def test_bands_of_losses_end_at_0() -> None:
    """Three losses with mean 1.05 and a deviation of 1.6; an interval by t would go on to -3."""
    values = np.array([0.1, 0.15, 2.9])
    assert summary(values, "sd", possible=possible("loss")).low == 0
    assert summary(values, "ci", possible=possible("log_gradient_norm")).low < 0
    assert summary(np.array([-1.0, 1.0, 0.0]), "sd", possible=possible("loss")).low == -1  # no value is cut off


@pytest.mark.parametrize(
    ("metric", "values", "median"),
    [
        ("test/loss", [2.0, 2.1, 39.0], 2.1),  # wider than its mean
        ("test/accuracy", [10.0, 86.0, 87.0, 87.0], 86.5),  # beyond 100 %
        ("test/loss", [2.0, 2.1, 2.2], None),
        ("log_gradient_norm", [-1.0, 0.1, 1.0], None),  # around 0 every interval is wider than its mean
    ],
)
def test_where_a_t_interval_misleads_the_median_and_the_range_are_shown(
    metric: str, values: list[float], median: float | None
) -> None:
    found = summary(np.array(values), "ci", possible=possible(metric))
    assert found.median == (median is not None)
    assert found.mean == pytest.approx(np.mean(values) if median is None else median)
    if median is not None:
        assert (found.low, found.high) == (min(values), max(values))


def test_on_a_logarithmic_axis_a_line_is_the_geometric_mean_and_with_a_zero_the_median() -> None:
    runs = ({0: 1.0, 1: 0.0}, {0: 10.0, 1: 5.0}, {0: 1e5, 1: 1e5})
    assert line(*runs, log=frozenset("y")).mean.tolist() == [pytest.approx(100), 5.0]
    said = caption(chart(*runs, log=frozenset("y")))
    assert said.startswith("Lines: geometric mean (median where a value is 0 or less) over 3 runs; bands: from the ")


def test_one_run_has_no_band() -> None:
    assert np.isnan(line({0: 1.0}).low).all()
    assert "One run each, so no band" in caption(chart({0: 1.0}))


def test_interval_is_of_the_logarithms_on_a_logarithmic_axis() -> None:
    found = summary(np.array([1.0, 100.0]), "ci", log=True)
    assert found.mean == pytest.approx(10)
    assert found.mean / found.low == pytest.approx(found.high / found.mean)
    assert summary(np.array([1.0, 3.0]), "ci").low == pytest.approx(2 - 12.706204736)
    assert summary(np.array([0.0, 1.0, 100.0]), "ci", log=True).mean == pytest.approx(10)
    assert summary(np.array([0.0, 0.0]), "ci", log=True).mean == 0


@pytest.mark.parametrize(("mark", "low"), [("line", -CROSS), ("interval", -CROSS / 2)])
def test_crosses_of_several_lines_at_one_place_stand_side_by_side(mark: str, low: float) -> None:
    """Inside the panel where lines have no bars: both at its right side, above its top."""
    styles = {"a": LineStyle("#000000"), "b": LineStyle("#ff0000")}
    runs = [(name, i, x, y) for name in styles for i, y in enumerate([math.inf, 3.0]) for x in (0, 10)]
    rows = [{"x": x, "y": y, "run": f"{name}{i}", "line": name, "ended": i == 0} for name, i, x, y in runs]
    drawn = Chart(pd.DataFrame(rows), mark, colour="line", styles=styles, band="sd")
    with settings(theme()):
        (axes,) = draw(drawn, theme()).axes
    crosses = [line for line in axes.lines if line.get_marker() == "x" and line.get_xdata()[0] == 10]
    places = [line.get_transform().transform(line.get_xydata())[0, 0] for line in crosses]
    origin = axes.transData.transform((10, 0))[0]
    points = 72 / axes.figure.dpi
    assert mark != "line" or "side by side" in caption(drawn)
    assert [(place - origin) * points for place in places] == pytest.approx([low, low + CROSS])
