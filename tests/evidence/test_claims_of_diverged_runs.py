"""A run that diverged counts as the worst, and is never dropped."""

import math

import pytest
from curve_maker import METRIC, cells, curve, finals
from judged_claims import GOOD, NAN, said, verdict

from normexp.evidence.metrics import better_direction

# Divergence


def test_arm_that_always_diverges_is_lower() -> None:
    curves = cells(BN=finals(GOOD), plain=finals([NAN] * 5))
    found = verdict(curves, "higher", than="plain")
    assert found.verdict == "holds"
    assert found.n == 5
    assert found.estimate == math.inf
    assert said(curves, "lower", than="plain") == "contradicted"


def test_lower_loss_is_better_than_a_diverged_one() -> None:
    curves = cells(BN=finals([0.1, 0.2, 0.3, 0.1], "train/loss"), plain=finals([NAN] * 4, "train/loss"))
    assert said(curves, "lower", metric="train/loss", than="plain") == "holds"


def test_diverged_run_is_not_dropped_to_make_an_arm_win() -> None:
    winner_without = [0.97, 0.972, 0.971, NAN, NAN]
    curves = cells(BN=finals(winner_without), LN=finals(GOOD))
    found = verdict(curves, "higher", than="LN")
    assert found.verdict == "undecided"
    assert found.n == 5


@pytest.mark.parametrize(
    ("values", "diverges", "converges"),
    [
        ([NAN] * 3, "holds", "contradicted"),
        ([0.9] * 3, "contradicted", "holds"),
        ([0.9, NAN, 0.9], "undecided", "undecided"),
    ],
)
def test_diverges_and_converges_count_runs(values: list[float], diverges: str, converges: str) -> None:
    curves = cells(BN=finals(values))
    assert said(curves, "diverges") == diverges
    assert said(curves, "converges") == converges
    diverged = sum(map(math.isnan, values))
    assert f"diverges in {diverged}/3" in verdict(curves, "diverges").evidence


def test_direction_that_is_not_known_makes_a_diverged_run_unknown() -> None:
    curves = cells(BN=finals([1.0, 1.1, 1.2, 1.3], "probe/width"), plain=finals([NAN] * 4, "probe/width"))
    assert said(curves, "higher", metric="probe/width", than="plain") == "undecided"
    assert said(curves, "higher", metric="probe/width", than="plain", better="higher") == "holds"


def test_ranks_with_ties_that_decide_where_the_interval_would_not_are_said_to_be_ties() -> None:
    curves = cells(BN=finals([0.1, 0.1, 0.7, 0.2, 0.1, NAN]), plain=finals([0.3, 0.3, 0.4, 0.4, 0.4, 0.4]))
    found = verdict(curves, "higher", than="plain", margin=0.1)
    assert found.verdict == "contradicted"
    assert found.interval is not None
    assert found.interval.high == pytest.approx(0.3)
    assert [remark.partition(":")[0] for remark in found.remarks] == ["ties"]


def test_range_of_a_diverged_run_is_not_small_because_more_of_the_metric_is_better() -> None:
    wide = {seed: curve([0.1, 0.9 - 0.01 * seed, 0.8]) for seed in range(8)}
    curves = cells(BN=finals([NAN] * 8), plain=wide)
    assert said(curves, "lower", at="range", than="plain") == "undecided"
    assert said(curves, "lower", at="range", than="plain", better="lower") == "contradicted"


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        (METRIC, "higher"),
        ("train/loss", "lower"),
        ("test/rmse", "lower"),
        ("probe/width", None),
        ("top5_error", "lower"),
        ("validation/bits_per_byte", "lower"),
        ("byte", None),
    ],
)
def test_better_direction(metric: str, direction: str | None) -> None:
    assert better_direction(metric) == direction
