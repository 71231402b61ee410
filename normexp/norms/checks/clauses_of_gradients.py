"""Clauses about derivatives, in float64 by finite differences along random directions."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from normexp.norms.checks.clause import MAPS, SEQUENCES, VECTORS, Broken, Case, Clause, make, on_activations, randomized

CHANNELS = 32


def gradient_is_the_derivative(case: Case) -> None:
    for shape in case.shapes():
        module = randomized(make(case.norm, torch.double))
        x = torch.randn(shape, dtype=torch.double, requires_grad=True)
        check_derivative(module, x, "backward", f" on {shape}")


def check_derivative(module: nn.Module, x: Tensor, what: str, where: str = "") -> None:
    """Raise Broken where the backward pass is not what finite differences give; of copies: training moves state."""
    if not torch.autograd.gradcheck(lambda x: copy.deepcopy(module)(x), [x], raise_exception=False, fast_mode=True):
        raise Broken(f"{what} differs from finite differences{where}{_narrowed(module, x)}")


def second_derivative(case: Case) -> None:
    """What a probe of the Hessian, or a gradient penalty, differentiates."""
    module = randomized(case.norm.normalization(CHANNELS).double())
    taken = case.shapes()
    _, _, *positions = next((shape for shape in (SEQUENCES, MAPS, VECTORS) if shape in taken), MAPS)
    x = torch.randn(4, CHANNELS, *positions, dtype=torch.double, requires_grad=True)
    if not copy.deepcopy(module)(x).requires_grad:
        raise Broken("the output has no gradient")
    if not torch.autograd.gradgradcheck(lambda x: copy.deepcopy(module)(x), [x], raise_exception=False, fast_mode=True):
        raise Broken(f"the gradient's gradient differs from finite differences{_narrowed(module, x)}")


@torch.no_grad()
def _narrowed(module: nn.Module, x: Tensor) -> str:
    """Ask whether float64 is narrowed, where a change that float32 does not have leaves the output as it is."""
    same = torch.equal(copy.deepcopy(module)(x), copy.deepcopy(module)(x * (1 + 1e-13 * torch.randn_like(x))))
    return "; is float64 narrowed inside (x.float())? at_least_float32(x) keeps it" if same else ""


def exact(case: Case) -> bool:
    return case.exact_gradient and on_activations(case)


def exact_module(case: Case) -> bool:
    return case.exact_gradient and case.normalizes


EXACT_GRADIENT = "gradient is the derivative (float64, finite differences)"
OF_GRADIENTS = (
    Clause(EXACT_GRADIENT, gradient_is_the_derivative, exact),
    Clause("second derivative (float64, finite differences)", second_derivative, exact_module),
)
