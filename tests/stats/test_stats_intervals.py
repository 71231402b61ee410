"""Intervals and p-values of one sample: Student's own data, Efron's own data, and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from normexp.errors import UserError
from normexp.evidence.stats import (
    EVERYTHING,
    Interval,
    Sign,
    Student,
    bootstrap_interval,
    one_sample,
    paired,
    paired_differences,
    proportion_interval,
    t_interval,
)

# Student 1908: hours of sleep gained by ten patients with two drugs. R's documentation of `sleep` and `t.test`
# gives the paired test: t = -4.0621, df = 9, p = 0.002833, 95 % interval -2.4598858 to -0.7001142.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
# Efron & Tibshirani 1993, table 14.1, test A of 26 children; table 14.2: the variance (divisor n) is 171.5, its 90 %
# intervals are (100.8, 233.9) by percentiles and (115.8, 259.6) by BCa, from 2,000 resamples.
CHILDREN = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41]


def by_seed(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_paired_t_is_that_of_the_published_sleep_data() -> None:
    estimate = paired(by_seed(FIRST), by_seed(SECOND))
    assert isinstance(estimate, Student)
    assert estimate.value == pytest.approx(-1.58)
    assert estimate.value / estimate.error == pytest.approx(-4.0621, abs=1e-4)
    assert 2 * estimate.p_below(0.0) == pytest.approx(0.002833, abs=1e-6)
    interval = estimate.interval()
    assert (interval.low, interval.high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)


@pytest.mark.parametrize("side", ["greater", "less"])
@pytest.mark.parametrize("bound", [-3.0, -1.58, 0.0])
def test_t_p_values_equal_scipy(side: str, bound: float) -> None:
    differences = list(paired_differences(by_seed(FIRST), by_seed(SECOND)).values())
    estimate = Student.of(differences)
    ours = estimate.p_above(bound) if side == "greater" else estimate.p_below(bound)
    assert ours == pytest.approx(scipy_stats.ttest_1samp(differences, bound, alternative=side).pvalue, rel=1e-9)


def test_t_interval_equals_scipy() -> None:
    expected = scipy_stats.ttest_1samp(SECOND, 0.0).confidence_interval(0.9)
    interval = t_interval(SECOND, 0.9)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_pairs_are_by_seed_whatever_the_order_and_the_company() -> None:
    shuffled = {seed: SECOND[seed] for seed in reversed(range(10))} | {77: 1000.0}
    assert paired(by_seed(FIRST), shuffled) == paired(by_seed(FIRST), by_seed(SECOND))
    assert paired_differences({0: 1.0, 3: 2.0}, {3: 0.5, 4: 9.0}) == {3: 1.5}


def test_pairing_is_what_finds_a_small_difference_between_scattered_seeds() -> None:
    base = by_seed([0.90, 0.93, 0.96, 0.91, 0.97])
    better = {seed: value + 0.002 + 0.0001 * seed for seed, value in base.items()}
    estimate = paired(better, base)
    assert estimate is not None
    assert estimate.interval().low > 0
    assert scipy_stats.ttest_ind(list(better.values()), list(base.values())).pvalue > 0.8


@pytest.mark.parametrize("values", [[], [0.0], [0.5]])
def test_fewer_than_two_values_have_no_interval(values: list[float]) -> None:
    assert t_interval(values) is None
    assert one_sample(values) is None
    assert bootstrap_interval(values) is None
    assert paired(by_seed(values), by_seed(values)) is None
    assert proportion_interval(len(values), len(values)) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_leaves_nothing_known(bad: float) -> None:
    assert t_interval([1.0, 1.1, bad]) == EVERYTHING
    assert bootstrap_interval([1.0, 1.1, bad]) == EVERYTHING
    estimate = one_sample([1.0, 1.1, bad])
    assert isinstance(estimate, Sign)
    assert estimate.interval() == EVERYTHING


def test_equal_values_are_not_taken_for_certainty() -> None:
    estimate = one_sample([0.1 + 0.2, 0.3, 0.3])
    assert isinstance(estimate, Sign)
    assert estimate.interval() == EVERYTHING
    assert Sign((0.3,) * 6).interval() == Interval(0.3, 0.3)


@pytest.mark.parametrize("n", [5, 6, 10, 17])
def test_sign_interval_and_p_equal_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    expected = scipy_stats.quantile_test(values, q=0.0, p=0.5).confidence_interval(0.95)
    ours = Sign(tuple(values)).interval()
    if n < 6:
        assert ours == EVERYTHING
    else:
        assert (ours.low, ours.high) == (expected.low, expected.high)
    above = scipy_stats.binomtest(int((values > 0).sum()), n, alternative="greater").pvalue
    assert Sign(tuple(values)).p_above(0.0) == pytest.approx(above)


def test_sign_value_on_the_bound_is_on_neither_side() -> None:
    ties = Sign((1.0, 1.0, 2.0, 3.0))
    assert ties.p_above(1.0) == pytest.approx(11 / 16)  # two or more heads of four
    assert ties.p_below(1.0) == 1.0
    assert ties.p_below(3.0) == pytest.approx(5 / 16)


def test_sign_unknown_counts_against_whatever_is_asked() -> None:
    known, unknown = Sign((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)), Sign((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, math.nan))
    assert unknown.p_above(0.0) > known.p_above(0.0)
    assert unknown.p_below(9.0) > known.p_below(9.0)
    assert unknown.interval() == Interval(-math.inf, math.inf)
    assert math.isnan(unknown.value)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (3, 5), (1, 2), (9, 30)])
def test_proportion_interval_equals_scipy(k: int, n: int) -> None:
    expected = scipy_stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    interval = proportion_interval(k, n)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def variance(sample: np.ndarray) -> float:
    return float(np.var(sample))


@pytest.mark.parametrize(("method", "low", "high"), [("percentile", 100.8, 233.9), ("bca", 115.8, 259.6)])
def test_bootstrap_is_near_the_published_example(method: str, low: float, high: float) -> None:
    assert variance(np.array(CHILDREN)) == pytest.approx(171.5, abs=0.05)
    interval = bootstrap_interval(CHILDREN, variance, 0.9, method)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_equals_scipy_but_for_the_draws(method: str) -> None:
    sample = np.random.default_rng(3).exponential(size=30)
    options = {"confidence_level": 0.9, "n_resamples": 9999, "method": method, "rng": np.random.default_rng(1)}
    expected = scipy_stats.bootstrap((sample,), np.mean, **options).confidence_interval
    interval = bootstrap_interval(sample.tolist(), confidence=0.9, method=method)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=0.02)


def test_bootstrap_of_equal_values_has_no_width() -> None:
    assert bootstrap_interval([0.5] * 4) == Interval(0.5, 0.5)


def test_bootstrap_method_that_does_not_exist() -> None:
    with pytest.raises(UserError, match="percentil"):
        bootstrap_interval([1.0, 2.0], method="percentil")


@pytest.mark.parametrize("ends", [(2.0, 1.0), (math.nan, 1.0), (0.0, math.nan)])
def test_interval_refuses_what_is_none(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="no interval"):
        Interval(*ends)


def test_interval_inside_and_outside() -> None:
    assert Interval(1, 2).inside(Interval(1, 3))
    assert not Interval(0.9, 2).inside(Interval(1, 3))
    assert Interval(1, 2).outside(Interval(2.1, 3))
    assert not Interval(1, 2).outside(Interval(2, 3))
    assert not EVERYTHING.outside(Interval(2, 3))
    assert not EVERYTHING.inside(Interval(2, 3))
    assert 0.0 in Interval(0, 1)
