"""Mean, standard deviation and median against the standard library."""

import math
import statistics

import pytest

from normexp.evidence.stats import mean, median, standard_deviation

VALUES = [0.9712, 0.9688, 0.9731]


def test_mean_and_standard_deviation_equal_the_standard_library() -> None:
    assert mean(VALUES) == pytest.approx(statistics.mean(VALUES), rel=1e-15)
    assert standard_deviation(VALUES) == pytest.approx(statistics.stdev(VALUES), rel=1e-12)
    assert standard_deviation(VALUES) != pytest.approx(statistics.pstdev(VALUES), rel=1e-3)


def test_one_value_has_no_spread_instead_of_zero() -> None:
    assert mean([0.0]) == 0.0
    assert math.isnan(standard_deviation([0.5]))


def test_nothing_has_no_mean() -> None:
    assert math.isnan(mean([]))
    assert math.isnan(standard_deviation([]))


def test_equal_values_have_a_spread_of_zero() -> None:
    assert standard_deviation([0.0, 0.0]) == 0.0
    assert standard_deviation([0.1, 0.1, 0.1]) == 0.0  # though their mean in floating point is more than 0.1


def test_spread_of_what_is_too_large_to_square_is_finite() -> None:
    assert mean([1e308, 1.7e308]) == pytest.approx(1.35e308)
    assert standard_deviation([1e301, 3e301]) == pytest.approx(2**0.5 * 1e301)


def test_spread_of_what_is_too_small_to_square_is_not_0() -> None:
    assert standard_deviation([1e-200, 3e-200]) == pytest.approx(2**0.5 * 1e-200, rel=1e-12)


@pytest.mark.parametrize("exponent", [1015, 520, -480, -1000])
def test_the_unit_of_large_and_small_values_moves_no_digit(exponent: int) -> None:
    values = [0.3, 0.7, 1.1, 123.7 / 7]
    scaled = [math.ldexp(value, exponent) for value in values]
    assert mean(scaled) == math.ldexp(mean(values), exponent)
    assert standard_deviation(scaled) == math.ldexp(standard_deviation(values), exponent)


def test_a_nan_is_never_skipped() -> None:
    assert math.isnan(mean([1.0, math.nan]))
    assert math.isnan(standard_deviation([1.0, math.nan, 2.0]))


def test_median_counts_a_diverged_run_as_the_worst() -> None:
    assert median([0.9, 0.8, -math.inf, math.nan, math.inf], larger_is_better=True) == -math.inf
    assert median([0.9, 0.8, 0.7, math.nan, -math.inf], larger_is_better=True) == 0.7
    assert median([0.3, math.nan, 0.1]) == 0.3
    assert median([0.3, 0.1, 0.2, math.nan]) == pytest.approx(0.25)
    assert median([0.1, math.inf]) == math.inf
    assert math.isnan(median([]))
