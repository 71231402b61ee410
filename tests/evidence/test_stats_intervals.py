"""Intervals and p-values of one sample: TTest's own data, Efron's own data, and SciPy."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from normexp.evidence.stats import (
    Interval,
    SignTest,
    TTest,
    one_sample,
    paired,
    paired_differences,
    proportion_interval,
    t_interval,
)
from normexp.evidence.stats.interval import EVERYTHING

# TTest 1908: hours of sleep gained by ten patients with two drugs. R's documentation of `sleep` and `t.test`
# gives the paired test: t = -4.0621, df = 9, p = 0.002833, 95 % interval -2.4598858 to -0.7001142.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def by_seed(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_paired_t_is_that_of_the_published_sleep_data() -> None:
    estimate = paired(by_seed(FIRST), by_seed(SECOND))
    assert isinstance(estimate, TTest)
    assert estimate.value == pytest.approx(-1.58)
    assert estimate.value / (estimate.sd / math.sqrt(10)) == pytest.approx(-4.0621, abs=1e-4)
    assert 2 * estimate.p_below(0.0) == pytest.approx(0.002833, abs=1e-6)
    interval = estimate.confidence_interval()
    assert (interval.low, interval.high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)


def test_pairs_are_by_seed_whatever_the_order_and_the_company() -> None:
    shuffled = {seed: SECOND[seed] for seed in reversed(range(10))} | {77: 1000.0}
    assert paired(by_seed(FIRST), shuffled) == paired(by_seed(FIRST), by_seed(SECOND))
    assert paired_differences({0: 1.0, 3: 2.0}, {3: 0.5, 4: 9.0}) == {3: 1.5}


def test_pairing_is_what_finds_a_small_difference_between_scattered_seeds() -> None:
    base = by_seed([0.90, 0.93, 0.96, 0.91, 0.97])
    better = {seed: value + 0.002 + 0.0001 * seed for seed, value in base.items()}
    estimate = paired(better, base)
    assert estimate is not None
    assert estimate.confidence_interval().low > 0
    assert scipy_stats.ttest_ind(list(better.values()), list(base.values())).pvalue > 0.8


@pytest.mark.parametrize("values", [[], [0.0], [0.5]])
def test_fewer_than_two_values_have_no_interval(values: list[float]) -> None:
    assert t_interval(values) is None
    assert one_sample(values) is None
    assert paired(by_seed(values), by_seed(values)) is None
    assert proportion_interval(len(values), len(values)) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_leaves_nothing_known(bad: float) -> None:
    assert t_interval([1.0, 1.1, bad]) == EVERYTHING
    estimate = one_sample([1.0, 1.1, bad])
    assert isinstance(estimate, SignTest)
    assert estimate.confidence_interval() == EVERYTHING


def test_equal_values_are_not_taken_for_certainty() -> None:
    estimate = one_sample([0.1 + 0.2, 0.3, 0.3])
    assert isinstance(estimate, SignTest)
    assert estimate.confidence_interval() == EVERYTHING
    assert SignTest((0.3,) * 6).confidence_interval() == Interval(0.3, 0.3)


@pytest.mark.parametrize(("n", "depth"), [(6, 1), (10, 2), (17, 5)])
def test_sign_interval_leaves_out_the_values_of_the_tables(n: int, depth: int) -> None:
    # Critical values of the sign test at a two-sided 5 %: 0, 1 and 4 of 6, 10 and 17 (Dixon & Mood 1946).
    ordered = sorted(np.random.default_rng(n).normal(size=n).tolist())
    assert SignTest(tuple(ordered)).confidence_interval() == Interval(ordered[depth - 1], ordered[-depth])
    assert SignTest(tuple(ordered[:5])).confidence_interval() == EVERYTHING


def test_sign_value_on_the_bound_is_on_neither_side() -> None:
    ties = SignTest((1.0, 1.0, 2.0, 3.0))
    assert ties.p_above(1.0) == pytest.approx(11 / 16)  # two or more heads of four
    assert ties.p_below(1.0) == 1.0
    assert ties.p_below(3.0) == pytest.approx(5 / 16)


def test_sign_unknown_counts_against_whatever_is_asked() -> None:
    known, unknown = SignTest((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)), SignTest((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, math.nan))
    assert unknown.p_above(0.0) > known.p_above(0.0)
    assert unknown.p_below(9.0) > known.p_below(9.0)
    assert unknown.confidence_interval() == Interval(-math.inf, math.inf)
    assert math.isnan(unknown.value)


def test_exact_interval_of_a_proportion_is_clopper_and_pearsons() -> None:
    # Five of five: the low end solves p**5 = 0.025. Two of five: the tail sums of the binomial are 0.025 at the ends.
    interval = proportion_interval(5, 5)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.025**0.2, 1.0))
    part = proportion_interval(2, 5)
    assert part is not None
    assert sum(math.comb(5, k) * part.low**k * (1 - part.low) ** (5 - k) for k in (2, 3, 4, 5)) == pytest.approx(0.025)
    assert sum(math.comb(5, k) * part.high**k * (1 - part.high) ** (5 - k) for k in (0, 1, 2)) == pytest.approx(0.025)


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


@pytest.mark.parametrize("size", [1e-300, 1e-180, 1e153, 1e180, 1e306])
def test_t_interval_of_tiny_and_of_large_values_is_that_of_others(size: float) -> None:
    small = (4.0, 4.5, 4.1, 5.0)
    large = TTest(tuple(size * value for value in small))
    expected, found = TTest(small).confidence_interval(), large.confidence_interval()
    assert (found.low / size, found.high / size) == pytest.approx((expected.low, expected.high))
    assert large.p_above(4 * size) == pytest.approx(TTest(small).p_above(4.0))
    assert large.p_below(5 * size) == pytest.approx(TTest(small).p_below(5.0))
