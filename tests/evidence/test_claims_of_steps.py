"""Steps to a target, their ratio, and runs that never reach it."""

import math
from typing import Any

import pytest
from curve_maker import along, cells, curve, finals
from judged_claims import NAN, said, verdict

# Speed


def rising(*reached_after: float, length: int = 11) -> dict[int, Any]:
    """One run per number: accuracy 0.9 from that evaluation on (every 10 steps), inf is never."""
    return {
        seed: curve([0.9 if i >= after else 0.5 + 0.001 * seed for i in range(length)])
        for seed, after in enumerate(reached_after)
    }


FAST, SLOW, NEVER = rising(2, 3, 2, 2, 3), rising(9, 10, 9, 8, 10), rising(*[math.inf] * 5)


def test_reaches_before() -> None:
    curves = cells(BN=FAST, plain=SLOW)
    found = verdict(curves, "reaches_before", than="plain", target=0.9)
    assert found.verdict == "holds"
    assert "median 20 against 90" in found.evidence
    assert said(curves, "reaches_before", of="plain", than="BN", target=0.9) == "contradicted"


@pytest.mark.parametrize(("ratio", "expected"), [(2, "holds"), (4, "undecided"), (30, "contradicted")])
def test_ratio_of_steps(ratio: float, expected: str) -> None:
    curves = cells(BN=FAST, plain=SLOW)
    assert said(curves, "ratio_at_least", than="plain", target=0.9, value=ratio) == expected


def test_never_in_the_baseline_counts_for_the_steps_it_was_watched() -> None:
    curves = cells(BN=FAST, plain=NEVER)
    found = verdict(curves, "ratio_at_least", than="plain", target="90%", value=2)
    assert found.verdict == "holds"
    assert "plain never in 5/5" in found.evidence
    assert said(curves, "ratio_at_least", than="plain", target=0.9, value=14) == "undecided"


def test_never_in_both_is_undecided() -> None:
    assert said(cells(BN=NEVER, plain=NEVER), "reaches_before", than="plain", target=0.9) == "undecided"


def test_a_target_that_every_run_meets_before_it_trains_says_so() -> None:
    """It said that some runs never arrive."""
    found = verdict(cells(BN=FAST, plain=SLOW), "reaches_before", than="plain", target=0)
    assert (found.verdict, found.p) == ("undecided", None)
    assert "every run is there before it trains" in found.evidence


def test_target_is_the_best_of_an_arm_seed_by_seed() -> None:
    baseline = {seed: curve([0.1, 0.5, 0.6 + 0.01 * seed]) for seed in range(5)}
    arm = {seed: curve([0.1, 0.6 + 0.01 * seed, 0.7]) for seed in range(5)}
    found = verdict(cells(BN=arm, plain=baseline), "reaches_before", than="plain", target="best of plain")
    assert found.verdict == "holds"
    assert found.estimate == pytest.approx(2.0)
    assert "the best of plain" in found.evidence
    late = {seed: curve([0.1, 0.59 + 0.01 * seed, 0.7]) for seed in range(5)}
    assert said(cells(BN=late, plain=baseline), "reaches_before", than="plain", target="best of plain") != "holds"


def test_target_of_a_run_without_any_value_is_unknown_not_met() -> None:
    lost = {seed: curve([], status="diverged") for seed in range(5)}
    curves = cells(BN=FAST, plain=lost)
    assert said(curves, "reaches_before", than="plain", target="best of plain") == "undecided"
    assert said(curves, "never_reaches", target="best of plain") == "undecided"


def test_speed_evidence_names_the_point() -> None:
    curves = along("BN", "batch_size", {2: FAST, 16: FAST}) | along("plain", "batch_size", {2: NEVER, 16: SLOW})
    assert "at batch_size=" in verdict(curves, "reaches_before", than="plain", target=0.9).evidence
    found = verdict(along("plain", "batch_size", {2: NEVER, 16: SLOW}), "never_reaches", of="plain", target=0.9)
    assert found.verdict == "contradicted"
    assert "at batch_size=16" in found.evidence


@pytest.mark.parametrize(
    ("runs", "expected"), [(NEVER, "holds"), (FAST, "contradicted"), (rising(2, math.inf), "undecided")]
)
def test_never_reaches(runs: dict[int, Any], expected: str) -> None:
    assert said(cells(BN=runs), "never_reaches", target=0.9) == expected


def test_never_says_within_how_many_steps() -> None:
    assert (
        "never reaches test/accuracy 0.9 within 40 steps"
        in verdict(
            cells(BN={seed: curve([0.1, 0.2, 0.3, 0.4, 0.5]) for seed in range(3)}), "never_reaches", target=0.9
        ).evidence
    )
    assert (
        "never reaches test/accuracy 0.9 in 3/3"
        in verdict(cells(BN=finals([NAN] * 3)), "never_reaches", target=0.9).evidence
    )  # nobody could have waited longer


def test_ratio_of_metrics() -> None:
    loss = {"metric": "train/loss"}
    curves = cells(BN=finals([0.3, 0.31, 0.32], "train/loss"), LN=finals([0.1, 0.102, 0.104], "train/loss"))
    assert said(curves, "ratio_at_least", than="LN", value=2.5, **loss) == "holds"
    assert said(curves, "ratio_at_least", than="LN", value=3.5, **loss) == "contradicted"
    assert said(curves, "ratio_at_least", than="LN", **loss, **{"in": "< 3.5"}) == "holds"
    assert said(curves, "ratio_at_least", than="LN", **loss, **{"in": "< 2.5"}) == "contradicted"
    negative = cells(BN=finals([-0.3, -0.3, -0.3, -0.3], "train/loss"), LN=finals([0.1] * 4, "train/loss"))
    assert said(negative, "ratio_at_least", than="LN", value=2.0, **loss) == "undecided"
