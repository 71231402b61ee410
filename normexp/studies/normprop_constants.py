"""The constants by which normalization propagation standardizes an activation function."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.config import Config
from normexp.errors import UserError
from normexp.models.activations import activation
from normexp.norms.kernels.gaussian import activation_moments, nodes
from normexp.seeding import generator
from normexp.studies.base import Number, Outcome, Study, StudyContext

SAME = 1e-12
Z95 = 1.959964  # of the normal distribution, two-sided


@dataclass(frozen=True)
class Constants:
    """Mean c2 and standard deviation c1 of f(Y), and E[f'(Y)^2], for Y ~ N(0, 1)."""

    c2: float
    c1: float
    square_slope: float

    @property
    def jacobian(self) -> float:
        """J J^T of a layer (f(W x) - c2) / c1 with unit-length rows is this times I, on average over N(0, I)."""
        return self.square_slope / self.c1**2


@dataclass(frozen=True, kw_only=True)
class NormPropConstants(Study):
    """The constants of `model.activation`, by quadrature and by Monte Carlo with 95 % intervals.

    Args:
        draws: of N(0, 1) for Monte Carlo.

    Raises: UserError for a network without the option `activation`.

    Source: Arpit et al. 2016, arXiv:1603.01431 [from the first author's slides]: c1 = sqrt(var f(Y)), c2 = E f(Y);
    for ReLU J J^T is near 1.47 I.
    """

    draws: int = 1_000_000

    def measure(self, context: StudyContext) -> Outcome:
        name = activation_name(context.config)
        exact = by_quadrature(activation(name))
        drawn = torch.randn(self.draws, dtype=torch.float64, generator=generator(context.seed, "normprop constants"))
        sampled, half = by_monte_carlo(activation(name), drawn)
        pairs = ((exact.c2, sampled.c2), (exact.c1, sampled.c1), (exact.jacobian, sampled.jacobian))
        metrics = {
            "c2": exact.c2,
            "c1": exact.c1,
            "jacobian_factor": exact.jacobian,
            "singular_value": math.sqrt(exact.jacobian),
            "gain": 1 / exact.c1,
            "c2_sampled": sampled.c2,
            "c2_half_width": half[0],
            "c1_sampled": sampled.c1,
            "c1_half_width": half[1],
            "jacobian_sampled": sampled.jacobian,
            "jacobian_half_width": half[2],
            "worst_deviation": max(Z95 * abs(a - b) / width for (a, b), width in zip(pairs, half, strict=True)),
        }
        numbers = list(relu_numbers(exact)) if name == "relu" else []
        return Outcome([{"step": self.draws, **metrics}], {}, numbers)


def activation_name(config: Config) -> str:
    """Return the activation function of the configuration's network. Raises UserError where it has none."""
    name = config["model"].get("activation")
    if name is None:
        raise UserError(
            f"study={config.choices['study']} measures model.activation, which model={config.choices['model']} does "
            "not have; model=mlp has"
        )
    return str(name)


def by_quadrature(fn: nn.Module) -> Constants:
    y, density = nodes()
    c2, c1 = activation_moments(fn)
    return Constants(c2, c1, float((density * slope(fn, y).square()).sum()))


def by_monte_carlo(fn: nn.Module, y: Tensor) -> tuple[Constants, tuple[float, float, float]]:
    """Return the constants over draws y of N(0, 1), and half the width of the 95 % intervals of c2, c1, Jacobian.

    Those of c1 and of the Jacobian factor, which are no means, by the delta method.
    """
    values, squares = fn(y), slope(fn, y).square()
    mean, var = float(values.mean()), float(values.var())
    found = Constants(mean, math.sqrt(var), float(squares.mean()))
    spread = (values - mean).square()
    influences = (
        values,
        spread / (2 * found.c1),
        squares / var - found.square_slope / var**2 * spread,
    )
    first, second, third = (Z95 * float(each.std()) / math.sqrt(len(y)) for each in influences)
    return found, (first, second, third)


def slope(fn: nn.Module, y: Tensor) -> Tensor:
    """Return f'(y); at a kink whichever side torch takes, which no integral notices."""
    y = y.clone().requires_grad_()
    (found,) = torch.autograd.grad(fn(y).sum(), y)
    return found


def relu_numbers(exact: Constants) -> Iterator[Number]:
    c2, c1 = math.sqrt(1 / (2 * math.pi)), math.sqrt((1 - 1 / math.pi) / 2)
    layer = "slides on the NormProp ReLU layer"
    for quantity, printed, formula, found in (
        ("mean of ReLU(Y), Y ~ N(0, 1)", "sqrt(1/(2 pi))", c2, exact.c2),
        ("standard deviation of ReLU(Y), Y ~ N(0, 1)", "sqrt((1/2)(1 - 1/pi))", c1, exact.c1),
    ):
        yield Number("S002", layer, quantity, printed, f"{found:.6f} by quadrature", abs(found - formula) < SAME)
    analysis = 'slide "Analysis"'
    yield Number("S002", analysis, "factor of E[J J^T] of a ReLU layer", "1.47", exact.jacobian)
    yield Number(
        "S002", analysis, "root mean square of the singular values of J, ReLU layer", "1.2", math.sqrt(exact.jacobian)
    )
