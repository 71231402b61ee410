"""Where in a run a claim reads its number."""

import math

import pytest
from curve_maker import cells, curve, finals
from judged_claims import NAN, claim, said, verdict

from normexp.evidence.claims import judge

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
    for at in ("step 30", "step 32"):  # its last evaluation, and the one by then
        assert said(diverged, "equals", value=0.7, margin=0.0, at=at) == "holds"
    for at in ("last", "best", "mean", "step 35", "step 1000"):
        assert said(diverged, "equals", value=0.7, margin=0.5, at=at) == "contradicted"


@pytest.mark.parametrize(
    ("values", "metric", "at_paper"),
    [
        ((0.9,), "test/accuracy", "undecided"),
        ((0.9, 0.901, 0.899), "test/accuracy", "holds"),
        ((0.9, 0.901, 0.899), "train/loss", "undecided"),
    ],
)
def test_a_printed_number_is_judged_at_its_own_scale_alone(
    values: tuple[float, ...], metric: str, at_paper: str
) -> None:
    """With one seed, or without its metric, it was undecided at another."""
    printed = claim("within", value="0.9", margin=0.05, metric=metric, printed=True)
    found = {scale: judge([printed], cells(BN=finals(values)), scale)[0].verdict for scale in ("cpu", "paper")}
    assert found == {"cpu": "not judged", "paper": at_paper}
