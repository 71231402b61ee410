"""Within a margin, and equal."""

import pytest
from curve_maker import cells, curve, finals
from judged_claims import BAD, GOOD, NAN, WILD, grid, said, verdict

from normexp.evidence.curves import Cell

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
