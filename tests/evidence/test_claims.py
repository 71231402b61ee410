"""Claims: every word holds, is contradicted and is undecided; the static check; the correction."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from claim_maker import check_claim, claim_data
from curve_maker import METRIC, along, cells, curve, finals

from normexp.evidence.claims import Claim, Verdict, entry, judge
from normexp.evidence.claims.difference import trend
from normexp.evidence.claims.estimands import Trend
from normexp.evidence.curves import Cell, Curves, better_direction

NAN = math.nan
ARMS = ("BN", "LN", "plain")
METRICS = (METRIC, "train/loss", "probe/width")
AXES = {"batch_size": [2, 16, 128], "optimizer": ["sgd", "adam"]}
GOOD = [0.951, 0.953, 0.952, 0.954, 0.950]
BAD = [0.901, 0.905, 0.902, 0.903, 0.900]
WILD = [0.99, 0.70, 0.95, 0.80, 0.97]


def claim(word: str, **keys: Any) -> Claim:
    metric = {} if word in ("diverges", "converges") else {"metric": METRIC}
    return check_claim(claim_data(word, **{**metric, **keys}), ARMS, METRICS, AXES)


def verdict(curves: Curves, word: str, **keys: Any) -> Verdict:
    return judge([claim(word, **keys)], curves)[0]


def said(curves: Curves, word: str, **keys: Any) -> str:
    return verdict(curves, word, **keys).verdict


# Orderings


def test_higher_is_paired_by_seed() -> None:
    scattered = [0.90, 0.93, 0.96, 0.91, 0.97]
    curves = cells(BN=finals([v + 0.002 + 0.0001 * s for s, v in enumerate(scattered)]), LN=finals(scattered))
    assert said(curves, "higher", than="LN") == "holds"
    assert said(curves, "lower", than="LN") == "contradicted"
    swapped = cells(BN=finals([v + 0.002 for v in reversed(scattered)]), LN=finals(scattered))
    assert said(swapped, "higher", than="LN") == "undecided"


@pytest.mark.parametrize(("margin", "expected"), [(0.03, "holds"), (0.05, "undecided"), (0.07, "contradicted")])
def test_higher_and_lower_by_at_least_a_margin(margin: float, expected: str) -> None:
    curves = cells(BN=finals(GOOD), LN=finals(BAD))
    assert said(curves, "higher", than="LN", margin=margin) == expected
    assert said(curves, "lower", of="LN", than="BN", margin=margin) == expected


def test_evidence_is_one_line_with_everything_in_it() -> None:
    found = verdict(cells(BN=finals(GOOD), LN=finals(BAD)), "higher", than="LN")
    assert "\n" not in found.evidence
    for part in (METRIC, "last", "BN minus LN", "0.0498", "95% [", "n=5", "p=", "Holm", "(paired t)"):
        assert part in found.evidence
    assert found.n == 5
    assert found.p == found.p_holm
    assert found.interval is not None
    assert found.estimate in found.interval


def test_undecided_says_how_many_more_seeds() -> None:
    found = verdict(cells(BN=finals(WILD), LN=finals(BAD)), "higher", than="LN", margin=0.01)
    assert found.verdict == "undecided"
    seeds = found.fresh_seeds
    assert seeds is not None
    assert seeds.observed is not None
    assert seeds.safeguard is None or seeds.safeguard > seeds.observed
    assert f"about {seeds.observed} fresh seeds would decide" in found.evidence


@pytest.mark.parametrize(
    ("word", "keys"),
    [
        ("higher", {"than": "LN"}),
        ("highest", {}),
        ("within", {"value": "95.1%", "margin": 0.01}),
        ("within", {"than": "LN", "margin": 0.5}),
        ("ratio_at_least", {"than": "LN", "value": 1.01}),
        ("reaches_before", {"than": "LN", "target": 0.9}),
        ("never_reaches", {"target": 0.99}),
        ("converges", {}),
        ("diverges", {}),
    ],
)
def test_one_seed_decides_nothing_and_says_so(word: str, keys: dict[str, Any]) -> None:
    curves = cells(BN=finals(GOOD[:1]), LN=finals(BAD[:1]), plain=finals(BAD[:1]))
    found = verdict(curves, word, **keys)
    assert found.verdict == "undecided"
    assert "fewer than two seeds" in found.evidence
    assert found.p is None


def test_a_value_of_one_seed_is_not_called_a_pair() -> None:
    note = "fewer than two seeds decide nothing"
    assert note in verdict(cells(BN=finals(GOOD[:1])), "within", value=0.9, margin=0.1).evidence


def test_seeds_that_only_one_arm_has_are_no_pairs() -> None:
    curves = cells(BN={0: curve([0.9]), 1: curve([0.9])}, LN={2: curve([0.1]), 3: curve([0.1])})
    assert "n=0" in verdict(curves, "higher", than="LN").evidence


def test_highest_is_among_all_arms_and_names_the_toughest() -> None:
    middle = [v - 0.01 + 0.001 * s for s, v in enumerate(GOOD)]
    curves = cells(BN=finals(GOOD), LN=finals(middle), plain=finals(BAD))
    found = verdict(curves, "highest")
    assert found.verdict == "holds"
    assert "minus LN" in found.evidence
    assert said(curves, "lowest") == "contradicted"
    assert said(curves, "lowest", of="plain") == "holds"
    assert said(curves, "highest", of="LN") == "contradicted"
    assert said(curves, "highest", of="LN", arms=["LN", "plain"]) == "holds"


def test_highest_is_undecided_where_one_rival_is_close() -> None:
    tie = [v + d for v, d in zip(GOOD, (0.001, -0.001, 0.002, -0.002, 0.0005), strict=True)]
    curves = cells(BN=finals(GOOD), LN=finals(tie), plain=finals(BAD))
    assert said(curves, "highest") == "undecided"


def test_claim_without_a_point_is_about_every_point() -> None:
    curves = along("BN", "batch_size", {2: finals(BAD), 128: finals(GOOD)})
    curves |= along("LN", "batch_size", {2: finals(GOOD), 128: finals(BAD)})
    assert said(curves, "higher", than="LN", where={"batch_size": 128}) == "holds"
    found = verdict(curves, "higher", than="LN")
    assert found.verdict == "contradicted"
    assert "batch_size=2" in found.evidence
    assert "least favourable of 2" in found.evidence
    assert said(curves, "higher", of={"arm": "BN", "batch_size": 128}, than={"arm": "BN", "batch_size": 2}) == "holds"


def test_contradiction_at_one_of_many_points_is_corrected_for_having_looked_at_all() -> None:
    slightly = [v + d for v, d in zip(GOOD, (0.004, 0.001, 0.003, 0.0005, 0.0035), strict=True)]
    points = {2: GOOD, 16: BAD, 128: BAD}
    curves = along("BN", "batch_size", {each: finals(points[each]) for each in points})
    rivals = {2: slightly, 16: [v - 0.02 - s / 1e4 for s, v in enumerate(BAD)], 128: [v - 0.03 for v in BAD]}
    curves |= along("LN", "batch_size", {each: finals(rivals[each]) for each in rivals})
    alone = verdict(curves, "higher", than="LN", where={"batch_size": 2})
    everywhere = verdict(curves, "higher", than="LN")
    assert alone.verdict == "contradicted"
    assert everywhere.p == pytest.approx(3 * (alone.p or 0))


def test_counts_at_one_point_contradict_a_claim_about_all() -> None:
    curves = grid({2: [NAN] * 3, 16: GOOD[:3]})
    found = verdict(curves, "diverges")
    assert found.verdict == "contradicted"
    assert "batch_size=16" in found.evidence
    assert said(grid({2: [NAN] * 3, 16: [NAN, 0.9]}), "diverges") == "undecided"
    assert said(curves, "diverges", where={"batch_size": 2}) == "holds"


def test_missing_arm_or_point_is_undecided_and_named() -> None:
    assert "no finished run of LN" in verdict(cells(BN=finals(GOOD)), "higher", than="LN").evidence
    curves = along("BN", "batch_size", {2: finals(GOOD), 128: finals(GOOD)})
    curves |= along("LN", "batch_size", {128: finals(BAD)})
    found = verdict(curves, "higher", than="LN")
    assert found.verdict == "undecided"
    assert "LN at batch_size=2" in found.evidence


def test_unfinished_runs_are_no_results_and_are_counted() -> None:
    runs = finals(GOOD) | {5: curve([0.1, 0.0], status="failed"), 6: curve([0.1], status="running")}
    found = verdict(cells(BN=runs, LN=finals(BAD)), "higher", than="LN")
    assert found.n == 5
    assert "2 runs not finished" in found.evidence


def test_metric_that_was_not_recorded_is_undecided() -> None:
    curves = cells(BN=finals(GOOD, "train/loss"), LN=finals(BAD))
    assert f"no {METRIC}" in verdict(curves, "higher", than="LN").evidence


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


# Closeness


@pytest.mark.parametrize(
    ("value", "margin", "expected"),
    [("95.2%", 0.005, "holds"), ("97%", 0.005, "contradicted"), ("95.4%", 0.001, "undecided"), (0.952, 0.005, "holds")],
)
def test_within_a_value(value: str | float, margin: float, expected: str) -> None:
    assert said(cells(BN=finals(GOOD)), "within", value=value, margin=margin) == expected


def test_within_of_another_arm_is_equivalence_not_a_lack_of_evidence() -> None:
    near = [v + d for v, d in zip(GOOD, (0.001, -0.001, 0.002, -0.002, 0.0005), strict=True)]
    assert said(cells(BN=finals(GOOD), LN=finals(near)), "within", than="LN", margin=0.01) == "holds"
    assert said(cells(BN=finals(GOOD), LN=finals(WILD)), "within", than="LN", margin=0.01) == "undecided"
    assert said(cells(BN=finals(GOOD), LN=finals(BAD)), "within", than="LN", margin=0.01) == "contradicted"


def test_equals_needs_one_run() -> None:
    exact = cells(BN={0: curve([1.0 + 1e-13])})
    assert said(exact, "equals", value=1.0, margin=1e-12) == "holds"
    assert said(exact, "equals", value=1.0, margin=1e-14) == "contradicted"
    assert said(cells(BN=finals([0.5, 0.5, NAN])), "equals", value=0.5, margin=0.1) == "contradicted"
    twins = cells(BN=finals(GOOD), LN=finals(GOOD))
    assert said(twins, "equals", than="LN", margin=0.0) == "holds"
    assert said(cells(BN=finals(GOOD), LN=finals(BAD)), "equals", than="LN", margin=1e-6) == "contradicted"


def test_equals_of_two_diverged_runs_is_undecided() -> None:
    assert said(cells(BN=finals([0.5, NAN]), LN=finals([0.5, NAN])), "equals", than="LN", margin=0.1) == "undecided"
    assert said(cells(BN=finals([0.5, NAN]), LN=finals([0.9, NAN])), "equals", than="LN", margin=0.1) == "contradicted"


def test_equals_passes_over_no_point_without_a_seed_in_common() -> None:
    apart = {seed + 10: run for seed, run in finals(GOOD).items()}
    curves = {**grid({2: GOOD, 16: GOOD}), Cell("LN", (("batch_size", 2),)): finals(GOOD)}
    found = verdict({**curves, Cell("LN", (("batch_size", 16),)): apart}, "equals", than="LN", margin=0.1)
    assert found.verdict == "undecided"
    assert "no seed in common at batch_size=16" in found.evidence


def test_equals_of_zero() -> None:
    assert said(cells(BN={0: curve([0.3, 0.0])}), "equals", value=0.0, margin=0.0) == "holds"
    assert said(cells(BN={0: curve([0.0, 0.3])}), "equals", value=0.0, margin=0.0) == "contradicted"


# Along an axis


def grid(values: Mapping[Any, Sequence[float]], axis: str = "batch_size") -> Curves:
    return along("BN", axis, {each: finals(of_seeds) for each, of_seeds in values.items()})


def test_flat_in_is_equivalence_of_every_pair() -> None:
    near = [v + d for v, d in zip(GOOD, (0.001, -0.001, 0.002, -0.002, 0.0005), strict=True)]
    assert said(grid({2: GOOD, 16: near, 128: GOOD[::-1]}), "flat_in", axis="batch_size", margin=0.01) == "holds"
    found = verdict(grid({2: BAD, 16: near, 128: GOOD}), "flat_in", axis="batch_size", margin=0.01)
    assert found.verdict == "contradicted"
    assert "batch_size=2" in found.evidence
    drift = {size: [v + 0.007 * i + s / 1e4 * i for s, v in enumerate(GOOD)] for i, size in enumerate((2, 16, 128))}
    assert said(grid(drift), "flat_in", axis="batch_size", margin=0.01) == "contradicted"
    assert said(grid({2: WILD, 16: GOOD}), "flat_in", axis="batch_size", margin=0.01) == "undecided"


def test_increasing_in_orders_numbers_by_size() -> None:
    middle = [v - 0.02 for v in GOOD]
    curves = grid({128: GOOD, 16: middle, 2: BAD})
    assert said(curves, "increasing_in", axis="batch_size") == "holds"
    assert said(curves, "decreasing_in", axis="batch_size") == "contradicted"
    assert said(curves, "increasing_in", axis="batch_size", margin=0.1) == "contradicted"


def test_step_back_contradicts_a_trend() -> None:
    peak = [v + 0.03 for v in GOOD]
    found = verdict(grid({2: BAD, 16: peak, 128: GOOD}), "increasing_in", axis="batch_size")
    assert found.verdict == "contradicted"
    assert "batch_size=16" in found.evidence


@pytest.mark.slow
def test_a_flat_line_has_no_trend_in_nineteen_of_twenty() -> None:
    """The ends may hold or contradict, a step contradict: all of them share the level."""
    wrong, source = 0, np.random.default_rng(0)
    rises = claim("increasing_in", axis="batch_size")
    assert isinstance(rises, Trend)
    for _ in range(1500):
        flat = grid({size: list(source.standard_normal(6)) for size in range(9)})
        wrong += trend(rises, flat).decision.p < 0.05  # type: ignore[union-attr]
    assert wrong / 1500 < 0.055  # it is 0.039; 0.071 where the steps have no share


def test_a_step_back_keeps_a_trend_from_holding_before_the_correction_over_all_claims() -> None:
    back = [v + 0.006 + e for v, e in zip(GOOD, (0.002, -0.002, 0.003, -0.003, 0.0), strict=True)]
    curves = grid({2: BAD, 16: back, 128: GOOD})
    others = [claim("higher", than="plain", text=f"claim {i}") for i in range(30)]
    plain = {Cell("plain", cell.point): finals(WILD) for cell in curves}
    rises = claim("increasing_in", axis="batch_size")
    assert judge([rises, *others], {**curves, **plain})[0].verdict == "undecided"


def test_axis_with_one_value_is_undecided() -> None:
    found = verdict(grid({2: GOOD}), "flat_in", axis="batch_size", margin=0.01)
    assert "1 values of batch_size" in found.evidence


def test_axis_of_texts_is_in_the_order_of_the_grid() -> None:
    assert said(grid({"sgd": BAD, "adam": GOOD}, "optimizer"), "increasing_in", axis="optimizer") == "holds"


def test_arm_that_diverges_at_every_point_is_not_flat() -> None:
    assert said(grid({2: [NAN] * 5, 128: [NAN] * 5}), "flat_in", axis="batch_size", margin=0.01) == "undecided"


# Several comparisons


def test_the_interval_of_what_contradicts_allows_for_all_comparisons() -> None:
    ours = finals([0.90, 0.91, 0.905, 0.915, 0.90])
    curves = cells(BN=ours, LN=finals([0.913, 0.922, 0.921, 0.925, 0.914]), plain=finals([0.5] * 5))
    found, alone = verdict(curves, "highest", arms=["LN", "plain"]), verdict(curves, "higher", than="LN")
    assert found.p == pytest.approx(2 * alone.p)  # type: ignore[operator]
    assert found.interval.high > alone.interval.high  # type: ignore[union-attr]


def test_the_adjusted_interval_decides_where_the_verdict_does() -> None:
    """Of the least favourable of several comparisons, whichever side it is on."""
    source, decided = np.random.default_rng(1), dict.fromkeys(("holds", "contradicted", "undecided"), 0)
    for _ in range(200):
        shift = source.choice([-1.0, 0.0, 1.0])
        draw = {arm: list(0.5 + (arm == "BN") * shift + source.standard_normal(5)) for arm in ARMS}
        found = verdict(cells(**{arm: finals(values) for arm, values in draw.items()}), "highest", arms=["LN", "plain"])
        assert found.adjusted is not None
        ends = found.adjusted.interval
        assert ends is not None
        by_interval = "holds" if ends.low > 0 else "contradicted" if ends.high < 0 else "undecided"
        assert by_interval == found.verdict
        decided[found.verdict] += 1
    assert min(decided.values()) > 5


def test_seeds_are_planned_for_all_comparisons() -> None:
    one, two = ({"LN": finals(WILD)}, {"LN": finals(WILD), "plain": finals([v - 0.2 for v in WILD])})
    ours = finals([v + e for v, e in zip(WILD, (-0.05, 0.02, -0.06, 0.03, -0.05), strict=True)])
    alone = verdict(cells(BN=ours, **one), "higher", than="LN").fresh_seeds
    among = verdict(cells(BN=ours, **two), "highest", arms=["LN", "plain"]).fresh_seeds
    assert alone is not None
    assert among is not None
    assert among.observed is not None
    assert alone.observed is not None
    assert among.observed > alone.observed


def test_an_equivalence_takes_more_seeds_than_one_of_its_ends() -> None:
    curves = cells(BN=finals([0.9, 0.93, 0.91, 0.94, 0.92]), LN=finals([0.91, 0.92, 0.92, 0.93, 0.92]))
    both = verdict(curves, "within", than="LN", margin=0.012).fresh_seeds
    one = verdict(curves, "higher", than="LN", margin=-0.012).fresh_seeds
    assert both is not None
    assert one is not None
    assert both.observed is not None
    assert one.observed is not None
    assert both.observed > one.observed


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


# At


PEAKED = [0.1, 0.9, 0.5, 0.7]


@pytest.mark.parametrize(
    ("at", "value"),
    [("last", 0.7), ("best", 0.9), ("mean", 0.55), ("step 10", 0.9), ("step 25", 0.5), ("step 30", 0.7)],
)
def test_at(at: str, value: float) -> None:
    assert said(cells(BN={0: curve(PEAKED)}), "equals", value=value, margin=1e-12, at=at) == "holds"


def test_best_of_a_loss_is_its_least() -> None:
    curves = cells(BN={0: curve(PEAKED, "train/loss")})
    assert said(curves, "equals", metric="train/loss", value=0.1, margin=0.0, at="best") == "holds"


def test_mean_leaves_out_the_empty_training_cell_of_step_0() -> None:
    curves = cells(BN={0: curve([NAN, 0.4, 0.2], "train/loss")})
    assert said(curves, "equals", metric="train/loss", value=0.3, margin=1e-12, at="mean") == "holds"


def test_range_of_a_run_with_an_infinite_value_is_no_number() -> None:
    infinite, empty = curve([0.2, math.inf, 0.3]), curve([0.2, NAN, 0.3])
    assert said(cells(BN={0: empty}), "equals", value=0.1, margin=1e-9, at="range") == "holds"
    assert said(cells(BN={0: infinite}), "equals", value=0.1, margin=1e-9, at="range") == "undecided"


def test_step_after_the_end_is_undecided_and_after_the_divergence_worst() -> None:
    assert (
        "ends at step 30" in verdict(cells(BN={0: curve(PEAKED)}), "equals", value=0, margin=0, at="step 31").evidence
    )
    diverged = cells(BN={0: curve(PEAKED, status="diverged")})
    assert said(diverged, "equals", value=0.7, margin=0.0, at="step 30") == "holds"
    for at in ("last", "best", "mean", "step 35", "step 1000"):
        assert said(diverged, "equals", value=0.7, margin=0.5, at=at) == "contradicted"


# The correction


def test_holm_is_over_all_tested_claims() -> None:
    weak = [v + d for v, d in zip(BAD, (0.004, 0.001, 0.003, 0.0005, 0.0035), strict=True)]
    curves = cells(BN=finals(weak), LN=finals(BAD), plain=finals(WILD))
    alone = claim("higher", than="LN")
    first = judge([alone], curves)[0]
    assert first.verdict == "holds"
    assert first.p is not None
    others = [claim("higher", than="plain"), claim("higher", of="LN", than="plain")]
    together = judge([alone, *others, claim("converges"), claim("higher", than="LN", at="step 99")], curves)
    assert together[0].p == first.p
    assert together[0].p_holm == pytest.approx(3 * first.p)
    assert together[0].verdict == "undecided"
    assert together[3].p is None
    assert together[3].verdict == "holds"
    assert together[4].verdict == "undecided"


def test_verdicts_are_in_the_order_of_the_claims_and_json() -> None:
    curves = cells(BN=finals(GOOD), plain=finals([NAN] * 5))
    claims = [claim("diverges", of="plain"), claim("higher", than="plain"), claim("diverges")]
    verdicts = judge(claims, curves)
    assert [each.verdict for each in verdicts] == ["holds", "holds", "contradicted"]
    entries = [entry(each, found, "paper", "cpu") for each, found in zip(claims, verdicts, strict=True)]
    text = json.dumps(entries, allow_nan=False)
    assert json.loads(text)[1]["estimate"] == "inf"


def test_no_claims() -> None:
    assert judge([], {}) == []
