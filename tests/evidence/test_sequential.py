"""Looks at more and more seeds: what they spend, and what they decide together."""

import math
from functools import partial

import numpy as np
import pytest
from claim_maker import check_claim, claim_data
from curve_maker import METRIC, cells, finals

from normexp.evidence.claims import CONTRADICTED, HOLDS, UNDECIDED, judge, still_open
from normexp.evidence.claims.power import least_p, smallest_adjusted_p
from normexp.evidence.claims.result import TestResult, all_of
from normexp.evidence.claims.sequential import at_looks, looks_taken
from normexp.evidence.curves import Cell
from normexp.evidence.stats import Design, EquivalenceTest, Interval, TTest
from normexp.evidence.stats.sequential import over_looks, repeated_interval

DESIGN = Design(tuple(range(12)), (4, 8, 12))
BETTER = check_claim(claim_data("higher", of="BN", than="none", metric=METRIC), ["BN", "none"], [METRIC])
NEVER = check_claim({**claim_data("diverges", of="none"), "text": "counted"}, ["BN", "none"], [METRIC])


def curves(differences, seeds: int = 12):
    baseline = np.linspace(0.4, 0.5, seeds)
    return cells(none=finals(list(baseline)), BN=finals(list(baseline + differences[:seeds])))


def noisy(mean: float, sd: float, seed: int = 0):
    return mean + sd * np.random.default_rng(seed).standard_normal(12)


@pytest.mark.parametrize("spending", ["pocock", "obrien_fleming"])
def test_shares_of_all_looks_add_up_to_one(spending) -> None:
    for looks in [(2, 3), (5, 10, 15, 20, 25), (4, 5, 20)]:
        shares = Design(tuple(range(looks[-1])), looks, spending).shares
        assert sum(shares) == pytest.approx(1)
        assert min(shares) > 0


def test_shares_are_those_of_the_published_functions() -> None:
    # Of 0.05 at half the sample: 0.05 log(1 + (e - 1) / 2), and twice 2 - 2 Phi(2.2414 / sqrt(0.5)).
    halves = {kind: Design((0, 1, 2, 3), (2, 4), kind).shares[0] * 0.05 for kind in ("pocock", "obrien_fleming")}
    assert halves["pocock"] == pytest.approx(0.03101, abs=1e-5)
    assert halves["obrien_fleming"] == pytest.approx(0.00305, abs=1e-5)


def test_the_least_p_over_its_share_counts_and_an_unknown_one_does_not() -> None:
    tests = [EquivalenceTest(0.2, 0.01), EquivalenceTest(0.03, math.nan)]
    both = over_looks(tests, (0.5, 0.5))
    assert (both.inside, both.outside) == (0.06, 0.02)
    assert over_looks(tests[:1], (0.1, 0.9)).inside == 1.0


def test_the_interval_excludes_the_bound_exactly_where_the_looks_decide() -> None:
    decided = 0
    for seed in range(60):
        values = tuple(noisy(0.7, 1.0, seed))
        looks = [TTest(values[:size]) for size in DESIGN.looks]
        tests = [EquivalenceTest.of(look, Interval(0.0, math.inf)) for look in looks]
        interval = repeated_interval([look.confidence_interval for look in looks], DESIGN.shares, 0.95)
        assert interval is not None
        assert (over_looks(tests, DESIGN.shares).p < 0.05) == (0.0 not in interval)
        decided += 0.0 not in interval
    assert 10 < decided < 50


def test_intervals_without_a_common_value_leave_that_of_the_last_look() -> None:
    apart = [lambda level: Interval(0, 1), lambda level: Interval(2, 3)]
    assert repeated_interval(apart, (0.5, 0.5), 0.95) == Interval(2, 3)
    assert repeated_interval([lambda level: None], (1.0,), 0.95) is None


def test_only_complete_looks_count() -> None:
    there = curves(noisy(0.1, 0.01), 7)
    assert [len(next(iter(look.values()))) for look in looks_taken(there, DESIGN)] == [4]
    (verdict,) = judge([BETTER], there, design=DESIGN)
    assert (verdict.n, verdict.verdict) == (4, HOLDS)
    (early,) = judge([BETTER], curves(noisy(0.1, 0.01), 3), design=DESIGN)
    assert early.verdict == UNDECIDED
    assert "the first look, at 4 seeds, is not complete" in early.evidence


def test_a_look_without_a_cell_that_is_to_be_there_is_not_complete() -> None:
    there = curves(noisy(0.1, 0.01), 7)
    assert len(looks_taken(there, DESIGN, list(there))) == 1
    assert looks_taken(there, DESIGN, [*there, Cell("layer")]) == []


def test_what_is_decided_at_a_look_stays_decided() -> None:
    differences = np.concatenate([noisy(0.1, 0.01)[:4], noisy(0.0, 0.3)[4:]])  # later seeds blur it
    first, last = (judge([BETTER], curves(differences, size), design=DESIGN)[0] for size in (4, 12))
    assert (first.verdict, last.verdict) == (HOLDS, HOLDS)
    assert judge([BETTER], curves(differences))[0].verdict == UNDECIDED
    assert last.interval is not None
    assert 0.0 not in last.interval
    assert last.p is not None
    assert first.p == pytest.approx(last.p)
    assert "look 3 of at most 3, 12 of at most 12 seeds; p and intervals allow for all looks" in last.remarks


def test_looking_costs_what_it_spends() -> None:
    once, looked = (judge([BETTER], curves(noisy(0.1, 0.1)), design=design)[0] for design in (None, DESIGN))
    assert looked.p > once.p  # type: ignore[operator]
    assert looked.interval.high - looked.interval.low > once.interval.high - once.interval.low  # type: ignore[union-attr]


def test_seeds_are_planned_at_the_level_of_the_last_look_and_decide() -> None:
    """29 seeds, planned for one test, decide in 0.70 of cases; 38, at the level of the last look, in 0.82."""
    differences = noisy(0.0, 1.0)
    differences = 0.1 * ((differences - differences.mean()) / differences.std(ddof=1) + 0.54)
    once, looked = (
        judge([BETTER], curves(differences), design=design)[0] for design in (None, Design(DESIGN.seeds, (6, 12)))
    )
    assert once.fresh_seeds_in_looks is None
    assert once.fresh_seeds is not None
    found, planned = once.fresh_seeds.observed, looked.fresh_seeds_in_looks.observed  # type: ignore[union-attr]
    assert found < planned  # type: ignore[operator]
    assert decided(found) < 0.8 <= decided(planned)


def decided(n: int | None) -> float:
    """Return how often n seeds of this effect decide in two looks, by the t-test of all draws at once."""
    from scipy.stats import ttest_1samp

    assert n is not None
    design = Design(tuple(range(n)), (n // 2, n))
    drawn = np.random.default_rng(1).normal(0.54, 1.0, (2000, n))
    p = np.array([ttest_1samp(drawn[:, :size], 0.0, axis=1, alternative="greater").pvalue for size in design.looks])
    return float(np.mean((2 * p <= 0.05 * np.array(design.shares)[:, None]).any(0)))


def test_more_seeds_are_run_for_tested_claims_alone() -> None:
    half = curves(noisy(0.0, 0.1))
    half[next(iter(half))] = finals([0.4] * 11 + [math.nan])  # one run diverged: "all diverge" stays undecided
    judged = list(zip([BETTER, NEVER], judge([BETTER, NEVER], half, design=DESIGN), strict=True))
    assert [verdict.verdict for _, verdict in judged] == [UNDECIDED, UNDECIDED]
    assert still_open(judged) == [BETTER.text]


def test_ranks_need_more_seeds_under_a_design() -> None:
    steps = claim_data("reaches_before", of="BN", than="none", metric=METRIC, target=0.5)
    claim = check_claim(steps, ["BN", "none"], [METRIC])
    few = Design((0, 1, 2, 3), (2, 4))
    least = partial(smallest_adjusted_p, [claim])
    assert least_p(least, None, 4) == least(4) < 0.05 < least_p(least, few, 4)
    assert least_p(least, DESIGN, DESIGN.looks[-1]) < 0.05


def test_published_boundaries_of_five_looks_are_met() -> None:
    """Jennison & Turnbull 2000, table 2.3 has 4.56, 3.23, 2.63, 2.28, 2.04 for O'Brien & Fleming's own boundaries; the
    spending function is near them: Lan & DeMets 1983 print 4.88, 3.36, 2.68, 2.29, 2.03.
    """
    from scipy.stats import norm

    from normexp.bench.suites.looks import normal_levels

    levels = normal_levels(Design(tuple(range(5)), (1, 2, 3, 4, 5), "obrien_fleming"))
    assert norm.isf(levels / 2) == pytest.approx([4.88, 3.36, 2.68, 2.29, 2.03], abs=0.01)


RIVALS = ("BN", "LN", "none")
BEST = check_claim(claim_data("highest", of="BN", arms=["LN", "none"], metric=METRIC), RIVALS, [METRIC])


def rivals(first, second):
    ours = np.linspace(0.4, 0.5, 12)
    return cells(BN=finals(list(ours)), LN=finals(list(ours - first)), none=finals(list(ours - second)))


def test_looks_at_each_of_several_comparisons_are_put_together_before_all_of_them():
    """One rival is clearly behind at the first look alone, the other at the last: an interval is of one comparison."""
    early = np.concatenate([noisy(0.1, 0.005)[:4], noisy(0.0, 2.0, 1)[4:]])
    late = np.concatenate([noisy(0.25, 0.15, 2)[:4], noisy(0.3, 0.02, 3)[4:]])
    ahead = [check_claim(claim_data("higher", than=arm, metric=METRIC), RIVALS, [METRIC]) for arm in RIVALS[1:]]
    both, first, second = (judge([claim], rivals(early, late), design=DESIGN)[0] for claim in (BEST, *ahead))
    assert [first.verdict, second.verdict, both.verdict] == [HOLDS, HOLDS, HOLDS]
    assert both.p == max(first.p, second.p)
    assert both.interval in (first.interval, second.interval)


@pytest.mark.slow
def test_intervals_over_looks_decide_where_the_verdicts_do():
    decided = 0
    for seed in range(80):
        first, second = noisy(0.05 * (seed % 3 - 1), 0.06, seed), noisy(0.05 * (seed % 3 - 1), 0.06, 1000 + seed)
        (found,) = judge([BEST], rivals(first, second), design=DESIGN)
        ends = found.adjusted.interval
        assert (ends.low > 0, ends.high < 0) == (found.verdict == HOLDS, found.verdict == CONTRADICTED)
        decided += found.verdict != UNDECIDED
    assert 10 < decided < 75


def test_a_look_that_could_not_be_tested_has_spent_its_share():
    tested = all_of([TestResult("x", 8, 1.0, decision=EquivalenceTest(0.01, 1.0))])
    results = iter([TestResult("x", 4, note="no target"), tested, tested])
    found = at_looks(lambda look, share: next(results), looks_taken(curves(noisy(0.1, 0.1)), DESIGN), DESIGN)
    assert found.decision is not None
    assert found.decision.inside == pytest.approx(0.01 / max(DESIGN.shares[1:]))
