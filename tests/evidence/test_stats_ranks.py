"""The rank-sum test against Hollander & Wolfe's example and SciPy; infinite and unknown values."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from normexp.evidence.stats import Interval, RankSumTest, SignTest, paired
from normexp.evidence.stats.interval import EVERYTHING
from normexp.evidence.stats.rank_sum import EXACT, _depth, _normal_depth

INF = math.inf
# Hollander & Wolfe 1973, page 69: permeability of the membrane at term and at 12 to 26 weeks; W = 35, and R's
# documentation of wilcox.test gives p = 0.1272 against "no greater".
TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]


def test_rank_sum_is_that_of_the_published_example() -> None:
    estimate = RankSumTest.of(TERM, EARLY)
    assert estimate.p_above(0.0) == pytest.approx(0.1272, abs=5e-5)
    assert estimate.value == pytest.approx(0.305)
    interval = estimate.confidence_interval()
    assert (interval.low, interval.high) == pytest.approx((-0.15, 0.76))


@pytest.mark.parametrize(
    ("first", "second", "bound"),
    [(0.57, 0.56, 0.01), (0.91, 0.90, 0.01), (0.56, 0.57, -0.01), (0.1 + 0.2, 0.3, 0.0), (0.01, 0.0, 0.57 - 0.56)],
)
def test_values_apart_by_the_bound_are_ties_whatever_their_last_bits(first: float, second: float, bound: float) -> None:
    estimate = RankSumTest.of([first] * 5, [second] * 5)
    assert estimate.p_above(bound) == estimate.p_below(bound) == 1.0


def test_values_on_the_bound_are_on_neither_side_whatever_their_last_bits() -> None:
    signs = SignTest((1 - 0.9,) * 6)
    assert signs.p_above(0.1) == signs.p_below(0.1) == 1.0


@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (5, 7), (10, 10)])
def test_rank_sum_p_equals_scipy(sizes: tuple[int, int]) -> None:
    draw = np.random.default_rng(sum(sizes))
    first, second = (draw.normal(size=size).tolist() for size in sizes)
    for bound in (-0.7, 0.0, 0.4):
        shifted = [value - bound for value in first]
        estimate = RankSumTest.of(first, second)
        greater = scipy_stats.mannwhitneyu(shifted, second, alternative="greater", method="exact").pvalue
        less = scipy_stats.mannwhitneyu(shifted, second, alternative="less", method="exact").pvalue
        assert (estimate.p_above(bound), estimate.p_below(bound)) == pytest.approx((greater, less), rel=1e-9)


def test_rank_sum_p_with_ties_equals_the_permutation_test() -> None:
    first, second = [1.0, 2.0, 2.0, INF, INF], [1.0, 1.0, 2.0, 0.5]
    ranks = scipy_stats.rankdata(first + second)
    expected = scipy_stats.permutation_test(
        (ranks[:5], ranks[5:]), lambda a, b: a.sum() - b.sum(), alternative="greater", n_resamples=INF
    )
    assert RankSumTest.of(first, second).p_above(0.0) == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_rank_sum_of_many_ties_equals_the_permutation_test(seed: int) -> None:
    first, second = np.random.default_rng(seed).integers(4, size=(2, 5)).astype(float)
    ranks = scipy_stats.rankdata([*first, *second])
    expected = scipy_stats.permutation_test(
        (ranks[:5], ranks[5:]), lambda a, b: a.sum() - b.sum(), alternative="less", n_resamples=INF
    )
    assert RankSumTest.of(first, second).p_below(0.0) == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("sizes", [(4, 4), (5, 5), (6, 5)])
def test_rank_sum_interval_holds_exactly_the_shifts_that_are_not_rejected(sizes: tuple[int, int]) -> None:
    draw = np.random.default_rng(sum(sizes))
    first, second = (draw.normal(size=size).tolist() for size in sizes)
    interval = RankSumTest.of(first, second).confidence_interval()
    for shift in np.linspace(-5, 5, 101):
        shifted = [value - shift for value in first]
        p = scipy_stats.mannwhitneyu(shifted, second, alternative="two-sided", method="exact").pvalue
        assert (p > 0.05) == (shift in interval)


@pytest.mark.parametrize(("n", "decides"), [(2, False), (3, False), (4, True), (5, True)])
def test_arm_that_always_diverges_is_worse_once_there_are_four_seeds(n: int, decides: bool) -> None:
    good, diverged = dict.fromkeys(range(n), 0.9), dict.fromkeys(range(n), -INF)
    estimate = paired(good, diverged)
    assert estimate is not None
    assert (2 * estimate.p_above(0.0) < 0.05) is decides
    assert estimate.confidence_interval() == (Interval(INF, INF) if decides else EVERYTHING)


def test_two_arms_that_always_diverge_are_not_shown_to_be_equal() -> None:
    diverged = dict.fromkeys(range(8), -INF)
    estimate = paired(diverged, diverged)
    assert estimate is not None
    assert estimate.confidence_interval() == EVERYTHING
    assert math.isnan(estimate.value)
    assert estimate.p_above(-0.1) > 0.9
    assert estimate.p_below(0.1) > 0.9


def test_one_diverged_run_is_neither_dropped_nor_filled() -> None:
    good = {s: 0.90 + 0.001 * s for s in range(5)}
    bad = {s: 0.80 + 0.001 * s for s in range(4)} | {4: -INF}
    estimate = paired(good, bad)
    assert estimate is not None
    assert estimate.n == 5
    assert estimate.method == "unpaired rank-sum"  # a difference that is not paired is not called so
    assert estimate.confidence_interval().low == pytest.approx(0.098)
    assert estimate.confidence_interval().high == INF
    assert 2 * estimate.p_above(0.0) == pytest.approx(2 / 252)


def test_unknown_value_never_helps() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    known, unknown = RankSumTest.of(high, low), RankSumTest.of([*high[:3], math.nan], low)
    assert known.p_above(0.0) < unknown.p_above(0.0)
    assert unknown.confidence_interval() == EVERYTHING
    flipped = RankSumTest.of([*low[:3], math.nan], high)
    assert flipped.p_below(0.0) > RankSumTest.of(low, high).p_below(0.0)


def test_constant_difference_is_judged_by_rank_not_by_a_spread_of_zero() -> None:
    chance, trained = dict.fromkeys(range(2), 0.1135), dict.fromkeys(range(2), 0.98)
    estimate = paired(trained, chance)
    assert estimate is not None
    assert 2 * estimate.p_above(0.0) == pytest.approx(1 / 3)
    many = paired(dict.fromkeys(range(5), 0.98), dict.fromkeys(range(5), 0.1135))
    assert many is not None
    assert many.confidence_interval() == Interval(0.98 - 0.1135, 0.98 - 0.1135)


@pytest.mark.slow
def test_ranks_of_many_runs_are_those_of_scipy_and_take_no_minutes() -> None:
    """Counting all choices of 600 ranks of 1200 needs gigabytes, and has more of them than float64 can hold."""
    draw = np.random.default_rng(12)
    first, second = [INF, *draw.normal(0.1, size=599).round(1)], draw.normal(size=600).round(1).tolist()
    estimate = RankSumTest.of(first, second)
    expected = scipy_stats.mannwhitneyu(first, second, alternative="greater", method="asymptotic").pvalue
    assert estimate.p_above(0.0) == pytest.approx(expected, rel=1e-9)
    assert RankSumTest.of([1.0] * 101, [1.0] * 101).p_above(0.0) == 1.0
    assert EXACT == 100
    for count in (50, 100):
        assert _normal_depth(count, count, 0.025) == _depth(count, count, 0.025)
