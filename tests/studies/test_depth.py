"""Deep NormProp stacks: mean field, full Jacobians, and singular values that are not all 1.2."""

import math

import pytest
import torch
from scipy import integrate, stats

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies.base import StudyContext
from normexp.studies.depth import Depth, along

NORMPROP = ["model=mlp", "norm=normprop", "init=gaussian"]
C2, C1 = math.sqrt(1 / (2 * math.pi)), math.sqrt((1 - 1 / math.pi) / 2)


def rows(study: Depth, *overrides: str):
    return study.measure(StudyContext(compose([*NORMPROP, *overrides]))).rows


def mean_field(depth: int, gamma: float) -> tuple[float, float]:
    """Return mean and variance after `depth` infinitely wide ReLU layers, from second moment to second moment."""
    second, mean = 1.0, 0.0
    for _ in range(depth):
        root = gamma * math.sqrt(second)

        def moment(power: int, root: float = root) -> float:
            def integrand(z: float) -> float:
                return ((max(root * z, 0.0) - C2) / C1) ** power * stats.norm.pdf(z)

            return integrate.quad(integrand, -10, 10, points=[0])[0]

        mean, second = moment(1), moment(2)
    return mean, second - mean**2


@pytest.mark.parametrize(("jacobian", "gamma"), [("none", 1), ("gamma", 1 / 1.21)])
def test_forward_statistics_follow_the_mean_field(jacobian, gamma):
    row = rows(Depth(depth=4, width=768, examples=300, jacobians=1), f"norm.jacobian={jacobian}")[-1]
    mean, variance = mean_field(4, gamma)
    assert row["mean"] == pytest.approx(mean, abs=0.03)
    assert row["variance"] == pytest.approx(variance, abs=0.05)
    assert row["jacobian_mean_square"] == pytest.approx((gamma**2 * 0.5 / C1**2) ** 4, rel=0.1)


def test_weights_that_fit_the_inputs_give_the_first_layer_variance_1():
    """lsuv had been what orthogonal is."""
    overrides = ("norm=none", "model.activation=tanh")
    deep = Depth(depth=3, width=32, jacobians=1)
    lsuv, orthogonal, fitted = (
        rows(deep, *overrides, f"init={init}")[-1] for init in ("lsuv", "orthogonal", "data_dependent")
    )
    assert lsuv["variance"] > 1.05 * orthogonal["variance"]  # tanh shrinks what it is given, layer by layer
    assert lsuv["variance"] == pytest.approx(fitted["variance"], rel=0.1)


def test_random_directions_estimate_the_full_jacobian():
    source = torch.Generator().manual_seed(0)
    blocks = torch.nn.Sequential(
        *(torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh()) for _ in range(3))
    ).double()
    x, t = (torch.randn(4000, 6, dtype=torch.float64, generator=source) for _ in range(2))
    full = torch.func.vmap(torch.func.jacrev(blocks))(x).detach()
    found = [row["jacobian_mean_square"] for row in along(blocks, x, t)]
    assert found[-1] == pytest.approx(float(full.square().sum((1, 2)).mean()) / 6, rel=0.06)


def test_orthogonal_weights_have_singular_values_0_and_the_gain():
    outcome = Depth(depth=1, width=40, jacobians=2).measure(
        StudyContext(compose([*NORMPROP, "norm.jacobian=none", "init=orthogonal"]))
    )
    values = torch.tensor([row["singular_value"] for row in outcome.tables["spectrum"]])
    assert all(value == 0 or abs(value - 1 / C1) < 1e-5 for value in values)
    assert 0.25 < float((values > 0).double().mean()) < 0.75
    assert outcome.rows[0]["layer_near"] == 0
    assert outcome.rows[0]["layer_smallest"] == 0


def test_mean_square_does_not_make_the_singular_values():
    outcome = Depth(depth=1, width=64).measure(StudyContext(compose([*NORMPROP, "norm.jacobian=none"])))
    row, (number,) = outcome.rows[0], outcome.numbers
    assert row["layer_root_mean_square"] == pytest.approx(1.21, abs=0.12)
    assert row["layer_smallest"] < 0.2 < 2 < row["layer_largest"]
    assert number.agrees is False


def test_no_number_where_the_slides_print_none():
    assert Depth(depth=1, width=8).measure(StudyContext(compose(NORMPROP))).numbers == []


def test_batch_statistics_are_refused():
    with pytest.raises(UserError, match="examples one by one, unlike norm=batch"):
        Depth(depth=1, width=8).measure(StudyContext(compose(["model=mlp", "norm=batch"])))


def test_data_dependent_initialization_is_carried_out():
    """Weight norm standardizes the first pre-activations on the inputs, so ReLU leaves the half-normal's moments."""
    (row,) = rows(Depth(depth=1, width=64), "norm=weight")
    assert (row["mean"], row["variance"]) == pytest.approx((C2, C1**2), abs=0.01)
