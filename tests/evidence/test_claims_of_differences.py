"""Higher, lower and highest are judged on differences paired by seed."""

from dataclasses import replace
from typing import Any

import pytest
from curve_maker import METRIC, along, cells, curve, finals
from judged_claims import BAD, GOOD, NAN, WILD, grid, said, verdict

from normexp.evidence.curves import Made

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
    for part in (METRIC, "last", "BN minus LN", "4.98 points", "95% [", "n=5", "p=", "Holm", "(paired t)"):
        assert part in found.evidence
    assert found.n == 5
    assert found.adjusted is not None
    assert found.p == found.adjusted.p
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


def test_runs_elsewhere_in_the_grid_say_nothing_of_a_claim_at_one_place() -> None:
    lent = {seed: replace(run, made=Made(commit="b" * 40, processor="lent")) for seed, run in finals(GOOD).items()}
    open_run = {9: curve([0.1], status="running")}
    curves = along("BN", "batch_size", {2: finals(GOOD) | open_run, 128: lent})
    curves |= along("LN", "batch_size", {2: finals(BAD), 128: lent})
    found = verdict(curves, "higher", than="LN", where={"batch_size": 128})
    assert not found.remarks
    assert "not finished" not in found.evidence
    everywhere = verdict(curves, "higher", than="LN")
    assert len(everywhere.remarks) == 2
    assert "1 run not finished" in everywhere.evidence


def test_metric_that_was_not_recorded_is_undecided() -> None:
    curves = cells(BN=finals(GOOD, "train/loss"), LN=finals(BAD))
    assert f"no {METRIC}" in verdict(curves, "higher", than="LN").evidence
