"""Regions (equivalence), Holm's correction, the number of seeds that would decide."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from normexp.evidence.stats import (
    EquivalenceTest,
    Interval,
    RankSumTest,
    SignTest,
    TTest,
    holm,
    plan,
    required_sample_size,
)

INF = math.inf


def test_equivalence_is_the_two_one_sided_tests() -> None:
    # The example of TOSTone in Lakens's package TOSTER: m = 0.54 against 0.5, sd = 1.2, n = 100, bounds of +-0.3 sd,
    # hence t = 0.40 / 0.12 and t = -0.32 / 0.12 with 99 degrees of freedom.
    spread = scipy_stats.zscore(np.random.default_rng(0).normal(size=100), ddof=1)
    estimate = TTest(tuple(0.54 - 0.5 + 1.2 * spread))
    assert estimate.p_above(-0.36) == pytest.approx(scipy_stats.t.sf(0.40 / 0.12, 99))
    assert estimate.p_below(0.36) == pytest.approx(scipy_stats.t.sf(0.32 / 0.12, 99))
    decision = EquivalenceTest.of(estimate, Interval(-0.36, 0.36))
    assert decision.inside == pytest.approx(2 * 0.00447, abs=2e-5)
    assert decision.outside == 1.0


@pytest.mark.parametrize("region", [Interval(0.9, 1.1), Interval(0, INF), Interval(-INF, 0.7), Interval(1.05, INF)])
@pytest.mark.parametrize("centre", [0.0, 0.5, 1.0, 1.3])
@pytest.mark.parametrize("spread", [0.01, 0.1, 1.0])
def test_decision_agrees_with_the_interval(region: Interval, centre: float, spread: float) -> None:
    sample = centre + spread * np.random.default_rng(5).normal(size=6)
    estimate = TTest(tuple(sample))
    decision = EquivalenceTest.of(estimate, region)
    assert (decision.inside < 0.05) == estimate.confidence_interval().inside(region)
    assert (decision.outside < 0.05) == estimate.confidence_interval().outside(region)


def test_decision_on_a_half_line_is_the_two_sided_p_value() -> None:
    sample = [0.2, 0.5, 0.1, 0.4]
    expected = scipy_stats.ttest_1samp(sample, 0.0).pvalue
    assert EquivalenceTest.of(TTest(tuple(sample)), Interval(0, INF)).p == pytest.approx(expected)
    assert EquivalenceTest.of(TTest(tuple(sample)), Interval(-INF, 0)).p == pytest.approx(expected)


def test_large_p_is_not_equivalence() -> None:
    scattered = TTest((0.84, 0.60, 0.86, 0.95))
    assert scipy_stats.ttest_1samp([0.84, 0.60, 0.86, 0.95], 0.85).pvalue > 0.5  # "no significant difference"
    assert EquivalenceTest.of(scattered, Interval(0.84, 0.86)).inside > 0.5  # nothing shown, still


def test_decision_with_infinite_values() -> None:
    always = SignTest((INF,) * 6)
    assert EquivalenceTest.of(always, Interval(-INF, 5.0)).outside < 0.05
    assert EquivalenceTest.of(always, Interval(-INF, 5.0)).inside == 1.0
    worse = RankSumTest.of([0.9] * 5, [-INF] * 5)
    assert EquivalenceTest.of(worse, Interval(0, INF)).inside < 0.05
    assert EquivalenceTest.of(worse, Interval(-1, 1)).outside < 0.05


def test_holm_by_hand_from_the_definition() -> None:
    # Sorted .005 .01 .03 .04 times 4 3 2 1 is .02 .03 .06 .04, and adjusted values never fall: .02 .03 .06 .06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # R's documentation style: p.adjust(1:5 / 100, "holm") is .05 .08 .09 .09 .09.
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])


def test_holm_edges() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [0.04]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.0, 0.0]) == [0.0, 0.0]


def test_holm_nan_stays_nan_and_still_counts() -> None:
    first, missing = holm([0.03, math.nan])
    assert first == pytest.approx(0.06)
    assert math.isnan(missing)


# Sample sizes of the one-sample and paired t-test at a two-sided 5 %, power 0.8: Cohen's d of 0.2, 0.5 and 0.8 need
# 199, 34 and 15 (G*Power 3, Faul et al. 2007, "difference between two dependent means").
@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_required_sample_size_are_the_published_sample_sizes(effect: float, n: int) -> None:
    assert required_sample_size(1.0, effect) == n
    assert required_sample_size(0.003, 0.003 * effect) == n


def test_required_sample_size_power_equals_a_simulation() -> None:
    n = required_sample_size(1.0, 1.5)
    assert n is not None
    draws = np.random.default_rng(0).normal(1.5, 1.0, size=(20_000, n))
    power = np.mean(scipy_stats.ttest_1samp(draws, 0.0, axis=1).pvalue < 0.05)
    assert 0.79 < power < 0.95
    fewer = np.mean(scipy_stats.ttest_1samp(draws[:, :-1], 0.0, axis=1).pvalue < 0.05)
    assert fewer < 0.81


@pytest.mark.parametrize("centre", [0.0, 0.1, 0.4])
def test_seeds_for_an_equivalence_leave_both_ends_clear(centre: float) -> None:
    near, far = Interval(-0.8, 0.8).distances(centre)
    n = required_sample_size(1.0, near, other=far)
    assert n is not None
    draws = np.random.default_rng(1).normal(centre, 1.0, size=(20_000, n))
    half = scipy_stats.t.ppf(0.975, n - 1) * draws.std(axis=1, ddof=1) / math.sqrt(n)
    assert 0.79 < np.mean(np.abs(draws.mean(axis=1)) + half < 0.8) < 0.85


def test_required_sample_size_edges() -> None:
    assert required_sample_size(1.0, 0.0) is None
    assert required_sample_size(1.0, 1e-6) is None
    assert required_sample_size(0.0, 0.1) == 2
    assert required_sample_size(1.0, 0.5, confidence=0.99) > 34
    for bad in ((math.nan, 1.0), (1.0, math.nan), (-1.0, 1.0)):
        with pytest.raises(ValueError, match="negative"):
            required_sample_size(*bad)


def test_safeguard_is_as_much_further_from_the_other_end() -> None:
    less = 0.8888895 / 3  # Student's quantile of 80 % at 8 degrees of freedom, over the root of nine seeds
    assert plan(1.0, 1.0, 9, other=1.0).safeguard == required_sample_size(1.0, 1 - less, other=1 + less) == 18
