"""The contract of `normexp.norms.base`, as far as it can be tested without knowing a scheme's formula."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, weight_layers
from normexp.norms.checks.subject import UNITS, reproducible

VECTORS, MAPS = (4, UNITS), (4, UNITS, 3, 2)


@dataclass(frozen=True)
class Finding:
    """One clause of the contract; `broken` says how it is broken, and is empty where it holds."""

    clause: str
    broken: str = ""


class Broken(Exception):
    """A clause does not hold; the message says how."""


def contract(norm: Norm, *, exact_gradient: bool = True) -> list[Finding]:
    """Check every clause. Raises nothing: what a scheme raises breaks the clause.

    Args:
        exact_gradient: False for a scheme whose backward is, as published, not the derivative of its forward.
    """
    clauses = {name: check for name, check in CLAUSES.items() if exact_gradient or name != EXACT_GRADIENT}
    return [Finding(clause, broken_by(check, norm)) for clause, check in clauses.items()]


def broken_by(check: Callable[[Norm], None], norm: Norm) -> str:
    """Return how the check fails, in one line, or nothing."""
    with reproducible():
        try:
            check(norm)
        except Broken as broken:
            return str(broken)
        except Exception as error:  # a scheme may raise anything
            return f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"
    return ""


def shapes(norm: Norm) -> list[tuple[int, ...]]:
    """Return the shapes to test: maps, and vectors unless the scheme refuses them with a ValueError."""
    try:
        norm.normalization(UNITS)(torch.randn(VECTORS))
    except ValueError:
        return [MAPS]
    return [VECTORS, MAPS]


def make(norm: Norm, dtype: torch.dtype = torch.float32) -> nn.Module:
    """Return what the scheme does to pre-activations and in place of a tanh, which has all derivatives."""
    return nn.Sequential(norm.normalization(UNITS), norm.nonlinearity(nn.Tanh())).to(dtype)


def keeps_shape_and_type(norm: Norm) -> None:
    for shape in shapes(norm):
        for dtype in (torch.float32, torch.float64):
            y = make(norm, dtype)(torch.randn(shape, dtype=dtype))
            if (y.shape, y.dtype) != (shape, dtype):
                raise Broken(f"{shape} {dtype} -> {tuple(y.shape)} {y.dtype}")


def finite_on_constant_input(norm: Norm) -> None:
    for shape in shapes(norm):
        for value in (0.0, 1.0, -1e4):
            x = torch.full(shape, value, requires_grad=True)
            y = make(norm)(x)
            y.sum().backward()
            for what, numbers in (("output", y), ("gradient", x.grad)):
                if numbers is not None and not numbers.isfinite().all():
                    raise Broken(f"{what} is not finite on {shape} full of {value:g}")


def accurate_at_an_offset(norm: Norm) -> None:
    """Compare float32 with float64 on values of mean 1e6 and deviation 16: E[x^2] - E[x]^2 loses every digit."""
    x = torch.randn(8, UNITS, 6, 6) * 16 + 1e6
    module = norm.normalization(UNITS)
    expected = copy.deepcopy(module).double()(x.double()).detach()
    error = (module(x).detach() - expected).abs().max()
    if error > torch.maximum(0.05 * expected.std(), 1e-3 * expected.abs().max()):
        raise Broken(f"float32 is off by {error:.2g} at a mean of 1e6, where the deviation is {expected.std():.2g}")


def gradient_is_the_derivative(norm: Norm) -> None:
    for shape in shapes(norm):
        module = make(norm, torch.double)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.uniform_(0.5, 1.5)
        x = torch.randn(shape, dtype=torch.double, requires_grad=True)
        if not torch.autograd.gradcheck(
            lambda x: copy.deepcopy(module)(x),  # noqa: B023  called at once; a copy, since training moves state
            [x],
            raise_exception=False,
            fast_mode=True,
        ):
            raise Broken(f"backward differs from finite differences on {shape}")


def every_parameter_learns(norm: Norm) -> None:
    block = norm.block(nn.Conv2d(3, UNITS, 3), nn.Tanh())
    y = block(torch.randn(4, 3, 8, 8))
    y.backward(torch.randn_like(y))
    for name, parameter in block.named_parameters():
        if parameter.grad is None or not parameter.grad.any():
            raise Broken(f"parameter {name} gets no gradient")


def state_dict_round_trip(norm: Norm) -> None:
    module, other = (norm.block(nn.Conv2d(3, UNITS, 3), nn.Tanh()) for _ in range(2))
    x = torch.randn(4, 3, 8, 8) + 3
    module(x)
    other.load_state_dict(module.state_dict())
    if not torch.equal(module.eval()(x), other.eval()(x)):
        raise Broken("a block that loads another's state_dict computes something else")


def evaluation_is_a_function(norm: Norm) -> None:
    block = norm.block(nn.Conv2d(3, UNITS, 3), nn.Tanh()).eval()
    before = {key: value.clone() for key, value in block.state_dict().items()}
    x = torch.randn(4, 3, 8, 8) + 3
    first, second = block(x), block(x)
    moved = [key for key, value in block.state_dict().items() if not torch.equal(before[key], value)]
    if moved:
        raise Broken(f"evaluation changes {moved[0]}")
    if not torch.equal(first, second):
        raise Broken("evaluation gives two outputs for one input")


def cancelled_bias_is_cancelled(norm: Norm) -> None:
    module = norm.normalization(UNITS).double()
    x, bias = torch.randn(MAPS, dtype=torch.double), torch.randn(1, UNITS, 1, 1, dtype=torch.double)
    state = copy.deepcopy(module)
    if norm.cancels_bias and not torch.allclose(module(x), state(x + bias), atol=1e-9):
        raise Broken("cancels_bias is true, but a constant per channel changes the output")


def layout_changes_nothing(norm: Norm) -> None:
    module, x = make(norm), torch.randn(MAPS)
    views = {"channels_last": x.contiguous(memory_format=torch.channels_last)}
    views["every second column"] = x.repeat_interleave(2, dim=3)[..., ::2]
    expected = copy.deepcopy(module)(x)
    for name, view in views.items():
        if not torch.allclose(copy.deepcopy(module)(view), expected, rtol=1e-4, atol=1e-4):
            raise Broken(f"another memory layout ({name}) changes the output")


def layer_stays_a_layer(norm: Norm) -> None:
    """Networks set initial weights and look for layers after the scheme has had them."""
    for layer in (nn.Linear(3, UNITS), nn.Conv2d(3, UNITS, 3)):
        expected = layer.weight.shape
        found: list[Any] = weight_layers(norm.block(layer, nn.Tanh()))
        if len(found) != 1 or found[0].weight.shape != expected:
            raise Broken(f"the block of a {type(layer).__name__} holds {len(found)} such layers, or of another shape")


def penalty_is_a_number(norm: Norm) -> None:
    penalty = norm.penalty(norm.block(nn.Linear(3, UNITS)))
    if penalty is not None and (not isinstance(penalty, Tensor) or penalty.dim() or not penalty.isfinite()):
        raise Broken("penalty is neither None nor a finite scalar")


EXACT_GRADIENT = "gradient is the derivative (float64, finite differences)"
CLAUSES: dict[str, Callable[[Norm], None]] = {
    "output has the input's shape and type": keeps_shape_and_type,
    "finite output and gradient on constant input": finite_on_constant_input,
    "accurate in float32 at an offset of 1e6": accurate_at_an_offset,
    EXACT_GRADIENT: gradient_is_the_derivative,
    "every parameter of a block gets a gradient": every_parameter_learns,
    "state_dict round trip": state_dict_round_trip,
    "evaluation changes no state and repeats itself": evaluation_is_a_function,
    "a bias that is said to be cancelled is cancelled": cancelled_bias_is_cancelled,
    "memory layout changes nothing": layout_changes_nothing,
    "a Linear or Conv layer stays one": layer_stays_a_layer,
    "penalty is None or a finite scalar": penalty_is_a_number,
}
