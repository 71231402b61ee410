"""Ten thousand simulated experiments: a sequential design keeps level and coverage, and whoever peeks does not."""

import math

import numpy as np
import pytest
from claim_maker import check_claim, claim_data
from curve_maker import METRIC, cells, finals

from normexp.bench.suites.looks import EXPERIMENTS, FAMILIES, draws, holm, looked_at, simulated, ways
from normexp.evidence.claims import UNDECIDED, judge
from normexp.evidence.stats import Design
from normexp.evidence.stats import holm as holm_of_one

CONTROLS = ["control: Lan-DeMets boundaries", "control: peeking, nothing spent"]
ARMS = ["none", "a", "b", "c", "d"]
CLAIMS = [
    check_claim(claim_data("higher", of=arm, than="none", metric=METRIC, text=arm), ARMS, [METRIC]) for arm in ARMS[1:]
]


def keeps_its_word(way: str, family: str, experiments: int = EXPERIMENTS) -> None:
    looks, shares = ways()[way]
    found = simulated(looks, shares, FAMILIES[family], experiments)
    assert found.wrong <= 0.05
    assert found.covered >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", ["spending pocock", "spending obrien_fleming"])
def test_design_keeps_the_level_of_the_family_and_the_coverage(way, family) -> None:
    keeps_its_word(way, family)


@pytest.mark.slow
@pytest.mark.parametrize("way", CONTROLS)
def test_control_that_spends_too_much_is_found_out(way) -> None:
    with pytest.raises(AssertionError):
        keeps_its_word(way, "none of 4 claims has an effect")


@pytest.mark.slow
@pytest.mark.parametrize("looks", [(2, 3, 4, 5, 6), (3, 6), (5, 7, 10, 14, 20)])
def test_other_looks_keep_it_too(looks) -> None:
    """With two looks nothing is given away: the true coverage is 95 %, and what is seen scatters around it."""
    for spending in ("pocock", "obrien_fleming"):
        shares = np.array(Design(tuple(range(looks[-1])), looks, spending).shares)
        found = simulated(looks, shares, (0.0, 0.0, 0.0, 1.0), EXPERIMENTS)
        assert found.wrong <= 0.05
        assert found.covered >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / EXPERIMENTS)


@pytest.mark.slow
def test_level_is_kept_where_runs_diverge_and_ranks_take_over() -> None:
    """Some runs of either arm diverge alike, so that one look is a t test and the next one by ranks."""
    design, rng, wrong = Design(tuple(range(9)), (3, 6, 9)), np.random.default_rng(5), 0
    for _ in range(300):
        values = {arm: rng.standard_normal(9) for arm in ARMS[:3]}
        for each in values.values():
            each[rng.random(9) < 0.05] = math.nan
        curves = cells(**{arm: finals(list(each)) for arm, each in values.items()})
        wrong += any(verdict.verdict != UNDECIDED for verdict in judge(CLAIMS[:2], curves, design=design))
    assert 0 < wrong <= 0.05 * 300


@pytest.mark.slow
def test_simulation_decides_as_the_claims_do() -> None:
    looks, shares = (5, 10, 15), np.array(Design(tuple(range(15)), (5, 10, 15)).shares)
    values = draws(15, np.array([0.0, 0.5, 1.0, 2.0]), 12)
    p, _, low, high = looked_at(values, looks, shares)
    adjusted = holm(p)
    for number, own in enumerate(values):
        arms = {"none": finals([0.0] * 15)} | {arm: finals(list(own[:, i])) for i, arm in enumerate("abcd")}
        for look, size in enumerate(looks):
            seen = {cell: {seed: runs[seed] for seed in range(size)} for cell, runs in cells(**arms).items()}
            verdicts = judge(CLAIMS, seen, design=Design(tuple(range(15)), looks))
            assert [each.p for each in verdicts] == pytest.approx(p[number, look], rel=1e-6)
            corrected = [each.adjusted.p for each in verdicts if each.adjusted]
            assert corrected == pytest.approx(adjusted[number, look], rel=1e-6)
            ends = [(each.interval.low, each.interval.high) for each in verdicts if each.interval]
            seen_ends = np.stack([low[number, look], high[number, look]], axis=1)
            assert np.allclose(ends, seen_ends, rtol=1e-6)


def test_holm_of_arrays_is_that_of_one_family() -> None:
    families = np.random.default_rng(1).uniform(size=(50, 5)) ** 3
    assert holm(families) == pytest.approx(np.array([holm_of_one(list(family)) for family in families]))
