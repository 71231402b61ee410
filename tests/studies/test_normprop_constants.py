"""Constants of normalization propagation, against values computed elsewhere and against scipy's quadrature."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import nn

from normexp.config import compose
from normexp.errors import UserError
from normexp.evidence.audit import CORRECT, judged
from normexp.seeding import generator
from normexp.studies.base import StudyContext
from normexp.studies.normprop_constants import NormPropConstants, by_monte_carlo, by_quadrature

KNOWN = {  # mean, standard deviation, E[f'^2] / variance
    "relu": (0.398942, 0.583819, 1.466942),
    "leaky_relu": (0.394953, 0.586568, 1.453371),
    "elu": (0.160521, 0.786879, 1.079013),
    "sigmoid": (0.5, 0.208276, 1.033592),
    "tanh": (0, 0.627929, 1.177807),
}


def context(name: str, seed: int = 0) -> StudyContext:
    return StudyContext(compose(["model=mlp", f"model.activation={name}", f"seed={seed}"]))


@pytest.mark.parametrize("name", KNOWN)
def test_known_constants(name):
    (row,) = NormPropConstants(draws=200_000).measure(context(name)).rows
    assert (row["c2"], row["c1"], row["jacobian_factor"]) == pytest.approx(KNOWN[name], abs=6e-7)
    assert row["singular_value"] == pytest.approx(math.sqrt(KNOWN[name][2]), abs=1e-6)
    assert 0 < row["worst_deviation"] < 4.5


def test_gelu_against_scipy():
    def gelu(y: float) -> float:
        return y * stats.norm.cdf(y)

    def slope(y: float) -> float:
        return stats.norm.cdf(y) + y * stats.norm.pdf(y)

    def mean(fn) -> float:
        return integrate.quad(lambda y: fn(y) * stats.norm.pdf(y), -12, 12, epsabs=1e-13)[0]

    found = by_quadrature(nn.GELU())
    assert found.c2 == pytest.approx(mean(gelu), abs=1e-11)
    assert found.c1**2 == pytest.approx(mean(lambda y: gelu(y) ** 2) - mean(gelu) ** 2, abs=1e-11)
    assert found.square_slope == pytest.approx(mean(lambda y: slope(y) ** 2), abs=1e-11)


def test_intervals_are_as_wide_as_the_estimates_spread():
    source = generator(0, "test")
    found = [by_monte_carlo(nn.ReLU(), torch.randn(2000, dtype=torch.float64, generator=source)) for _ in range(300)]
    estimates = np.array([(each.c2, each.c1, each.jacobian) for each, _ in found])
    halves = np.array([half for _, half in found])
    assert 1.96 * estimates.std(0) == pytest.approx(halves.mean(0), rel=0.15)


def test_printed_numbers_of_the_slides_are_right():
    numbers = NormPropConstants(draws=1000).measure(context("relu")).numbers
    assert [number.printed for number in numbers] == ["sqrt(1/(2 pi))", "sqrt((1/2)(1 - 1/pi))", "1.47", "1.2"]
    verdicts = [
        judged(each.printed, str(each.computed), "" if each.agrees is None else str(each.agrees)) for each in numbers
    ]
    assert verdicts == [CORRECT] * 4
    assert NormPropConstants(draws=1000).measure(context("tanh")).numbers == []


def test_network_without_activation_is_refused():
    with pytest.raises(UserError, match=r"model\.activation, which model=linear does not have; model=mlp has"):
        NormPropConstants().measure(StudyContext(compose(["model=linear"])))
