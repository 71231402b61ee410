"""Steps to a target and speed-ups, where never is a value."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from normexp.evidence.claims.result import compared
from normexp.evidence.stats import Interval, Steps, speed_up, steps_to_target
from normexp.evidence.stats.speed_up import CensoredRatio
from normexp.evidence.stats.steps import NEVER, same_evaluations

INF, NAN = math.inf, math.nan
DRAWS = 150  # of five pairs each


def of(*steps: float, watched: float = 1000.0) -> dict[int, Steps]:
    return {seed: Steps(step, watched) for seed, step in enumerate(steps)}


def test_first_evaluation_that_meets_the_target_counts() -> None:
    steps, accuracy = [0, 10, 20, 30], [0.1, 0.8, 0.7, 0.9]
    assert steps_to_target(steps, accuracy, 0.8, True) == Steps(10, 30, 0)
    assert steps_to_target(steps, accuracy, 0.1, True).step == 0
    assert steps_to_target(steps, [2.0, 1.0, 0.5, 0.1], 0.5, False).step == 20


def test_never_is_a_value() -> None:
    missed = steps_to_target([0, 10], [0.1, 0.2], 0.9, True)
    assert missed == Steps(NEVER, 10, 10)
    assert missed.bounds == (11, INF)  # a later evaluation, if any
    assert steps_to_target([0, 10], [0.1, NAN], 0.9, True, diverged=True).bounds == (INF, INF)
    assert steps_to_target([], [], 0.9, True) == Steps(NEVER, 0)


def test_a_run_that_ended_without_the_target_is_behind_one_that_met_it_at_its_end() -> None:
    result = speed_up(of(*[1000.0] * 5), of(*[NEVER] * 5))
    assert result.estimate is not None
    assert result.estimate.p_below(0.0) == pytest.approx(1 / math.comb(10, 5))
    assert result.estimate.p_above(0.0) == 1.0


def test_nan_never_meets_a_target_and_an_unknown_target_is_not_never() -> None:
    assert steps_to_target([0, 10, 20], [NAN, NAN, 0.5], 0.9, False).step == 20
    assert math.isnan(steps_to_target([0, 10], [0.1, 0.2], NAN, True).step)
    assert Steps(NAN).bounds == (0, INF)


def test_speed_up_is_the_ratio_of_paired_steps() -> None:
    baseline, arm = [310.0, 330.0, 290.0, 305.0], [21.0, 24.0, 19.0, 22.0]
    result = speed_up(of(*baseline), of(*arm))
    logs = np.log(baseline) - np.log(arm)
    expected = scipy_stats.ttest_1samp(logs, 0.0).confidence_interval(0.95)
    assert result.ratio == pytest.approx(np.exp(logs.mean()))
    interval = result.confidence_interval()
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    assert (result.baseline, result.arm, result.never, result.n) == (307.5, 21.5, (0, 0), 4)


def test_never_is_reported_and_only_worth_what_was_watched() -> None:
    result = speed_up(of(INF, INF, INF, INF, INF), of(100, 110, 90, 105, 95))
    assert result.never == (5, 0)
    assert result.baseline == INF
    interval = result.confidence_interval()
    assert interval is not None
    assert 9 < interval.low < 1000 / 90  # it was watched for 1000 steps, so no more than that is known
    assert interval.high == INF
    assert math.isnan(result.ratio)


def test_baseline_that_diverged_never_would_have_reached_it() -> None:
    result = speed_up(of(*[INF] * 5, watched=INF), of(100, 110, 90, 105, 95))
    interval = result.confidence_interval()
    assert interval is not None
    assert interval.low == INF
    assert result.ratio == INF


def test_one_never_among_five_is_not_dropped() -> None:
    clean = speed_up(of(400, 410, 390, 405, 395), of(100, 110, 90, 105, 95))
    result = speed_up(of(400, 410, 390, 405, 395), of(100, 110, 90, 105, INF))
    assert result.never == (0, 1)
    assert result.n == 5
    low, clean_low = result.confidence_interval(), clean.confidence_interval()
    assert low is not None
    assert clean_low is not None
    assert low.low < clean_low.low
    assert low.low == 0


def test_two_arms_that_never_reach_it_say_nothing() -> None:
    result = speed_up(of(*[INF] * 6), of(*[INF] * 6))
    interval = result.confidence_interval()
    assert interval is not None
    assert (interval.low, interval.high) == (0, INF)
    assert math.isnan(result.ratio)


def test_one_pair_has_no_interval() -> None:
    result = speed_up(of(100), of(10))
    assert result.confidence_interval() is None
    assert math.isnan(result.ratio)


def test_met_before_training_is_step_0_and_not_never() -> None:
    result = speed_up(of(100, 120, 110, 90), of(0, 0, 0, 0))
    assert result.arm == 0
    assert result.never == (0, 0)
    assert result.ratio == INF


def test_a_target_is_met_somewhere_between_two_evaluations() -> None:
    met = steps_to_target([0, 100, 200], [0.1, 0.5, 0.9], 0.8, True)
    assert met.update_bounds == (101, 200)
    assert steps_to_target([100, 200], [0.9, 0.9], 0.8, True).update_bounds == (1, 100)
    assert steps_to_target([0, 100], [0.9, 0.9], 0.8, True).update_bounds == (0, 0)  # before training
    assert steps_to_target([0, 100], [0.1, 0.2], 0.8, True).update_bounds == (101, INF)
    assert Steps(NAN).update_bounds == (0, INF)


def test_equal_counts_of_evaluations_are_no_interval_of_width_0() -> None:
    # Ten runs, all quantized to 500 steps: 1000 and 1500. The true ratio lies anywhere in (1, 3).
    result = speed_up(
        {seed: Steps(1500, 50000, 1000) for seed in range(5)}, {seed: Steps(1000, 50000, 500) for seed in range(5)}
    )
    interval = result.confidence_interval()
    assert interval is not None
    assert result.ratio == pytest.approx(1.5)
    assert (interval.low, interval.high) == pytest.approx((1001 / 1000, 1500 / 501))


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "evaluations"), [(1.0, 5), (4.0, 60), (8.0, 5)])
def test_interval_covers_the_ratio_on_a_coarse_grid_too(ratio: float, evaluations: int) -> None:
    draw, grid = np.random.default_rng(11), np.linspace(0, 1500, evaluations + 1)
    truths = draw.lognormal(math.log(900), 0.15, size=(DRAWS, 2, 5)) / np.array([1.0, ratio])[:, None]
    covered, naive, p = 0, 0, []
    for truth in truths:
        theirs, ours = ({s: _met(float(step), grid) for s, step in enumerate(each)} for each in truth)
        result = speed_up(theirs, ours)
        interval = result.confidence_interval()
        assert interval is not None
        assert result.estimate is not None
        covered += ratio in interval
        seen = result.estimate.observed.confidence_interval()
        naive += math.log(ratio) in seen
        p.append(2 * min(result.estimate.p_above(0.0), result.estimate.p_below(0.0)))
    assert covered / DRAWS > 0.93
    assert np.mean(np.array(p) < 0.05) < 0.08 if ratio == 1 else np.mean(np.array(p) < 0.05) > 0.9
    if (ratio, evaluations) == (8.0, 5):
        assert naive / DRAWS < 0.2  # what rounding to the grid does to an interval that does not know of it


def _met(step: float, grid: np.ndarray) -> Steps:
    return steps_to_target(grid.tolist(), (grid >= step).astype(float).tolist(), 1.0, True)


def test_runs_that_are_alike_are_not_faster_for_being_evaluated_more_often() -> None:
    """By evaluations alone the arm seems a fifth faster, with p = 0.003: the baseline is looked at later."""
    times = (215.0, 230.0, 250.0, 325.0, 240.0)
    coarse, fine = (
        {seed: _met(time, np.arange(0, 1001, every)) for seed, time in enumerate(times)} for every in (100, 20)
    )
    assert not same_evaluations([*coarse.values(), *fine.values()])
    assert same_evaluations([*fine.values(), Steps(40, 1000, 20)])  # of whose evaluations nothing more is known
    mixed, alike = speed_up(coarse, fine).estimate, speed_up(fine, fine).estimate
    assert isinstance(mixed, CensoredRatio)
    assert mixed.observed.p_above(0.0) < 0.005
    assert mixed.p_above(0.0) > 0.5
    assert isinstance(alike, CensoredRatio)
    assert alike.p_above(0.0) == alike.observed.p_above(0.0)


def test_seeds_are_planned_by_what_the_evaluations_tell_for_sure() -> None:
    """A ratio of 2.4, between evaluations perhaps 1.3: that it is above 2 no number of seeds will show."""
    theirs = {seed: Steps(step, 1000, step - 25) for seed, step in enumerate((50, 75, 50, 75, 50))}
    ours = {seed: Steps(25, 1000, 0) for seed in range(5)}
    estimate = speed_up(theirs, ours).estimate
    assert isinstance(estimate, CensoredRatio)
    assert estimate.value > math.log(2) > estimate.least.value
    assert compared("speed-up", estimate, Interval(math.log(2), INF), 5).spread is None
    assert estimate.deciding(Interval(0.0, INF)) is estimate.observed
    assert estimate.deciding(Interval(math.log(1.2), INF)) is estimate.least
    assert estimate.deciding(Interval(math.log(100), INF)) is estimate.largest
    assert estimate.deciding(Interval(math.log(1.2), math.log(100))) is estimate.least
