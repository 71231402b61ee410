"""Clauses about the numbers: finite, accurate, the same in every memory layout and precision."""

from __future__ import annotations

import copy
from itertools import product

import torch
from torch import Tensor

from normexp.norms.base import Norm
from normexp.norms.checks.clause import (
    MAPS,
    Broken,
    Case,
    Clause,
    compare,
    make,
    normalizes,
    on_activations,
    on_maps,
    outcome,
    randomized,
)  # fmt: skip
from normexp.norms.checks.subject import UNITS

HALF = (torch.bfloat16, torch.float16)
FORMATS = (torch.contiguous_format, torch.channels_last)


def finite_on_constant_input(case: Case) -> None:
    for shape, value in product(case.shapes(), (0.0, 1.0, -1e4)):
        x = torch.full(shape, value, requires_grad=True)
        y = make(case.norm)(x)
        y.sum().backward()
        for what, numbers in (("output", y), ("gradient", x.grad)):
            if numbers is not None and not numbers.isfinite().all():
                raise Broken(f"{what} is not finite on {shape} full of {value:g}")


def accurate_at_an_offset(case: Case) -> None:
    """Compare float32 with float64 where E[x^2] - E[x]^2 loses every digit; at 1e6 rounding the mean costs percents.

    The last digits of the output are no mistake: all that is left there of a function that flattens out.
    """
    for norm, memory_format, (offset, share) in product(case.variants(), FORMATS, ((1e3, 1e-4), (1e6, 0.05))):
        x = (torch.randn(8, UNITS, 6, 6) * 16 + offset).contiguous(memory_format=memory_format)
        found, expected = in_float32_and_float64(norm, x)
        error = float((found - expected).abs().max())
        largest = float(expected.abs().max())
        rounding = max(4 * torch.finfo(torch.float32).eps, 1e-3 * (offset == 1e6))
        if error > max(share * float(expected.std()), rounding * largest):
            raise Broken(
                f"float32 is off by {error:.2g} at a mean of {offset:g} ({name_of(memory_format)}), "
                f"where the deviation is {expected.std():.2g}"
            )


def in_float32_and_float64(norm: Norm, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the normalized x by the module as it is, in float64, and by the same module in float64."""
    module = norm.normalization(UNITS)
    exact = copy.deepcopy(module).double()
    return module(x).detach().double(), exact(x.double()).detach()


def half_precision_keeps_statistics_in_float32(case: Case) -> None:
    """At a mean of 100 a bfloat16 mean is off by up to 0.25, and a float16 sum of 2,048 values is infinite."""
    for norm, dtype, memory_format in product(case.variants(), HALF, FORMATS):
        x = (torch.randn(8, UNITS, 16, 16) + 100).to(dtype).contiguous(memory_format=memory_format)
        module = norm.normalization(UNITS)
        exact = copy.deepcopy(module).double()(x.double()).detach()
        y = module(x)
        if y.dtype != dtype or any(value.dtype == dtype for value in module.state_dict().values()):
            raise Broken(f"{dtype} in, {y.dtype} out, or a parameter became {dtype}")
        over = (y.detach().double() - exact).abs() - torch.finfo(dtype).eps * exact.abs() - 1e-3
        if not (over <= 0).all():
            where = f"{dtype} at a mean of 100 ({name_of(memory_format)})"
            raise Broken(f"{where}: off by {over.max():.2g} more than rounding")


def half_precision_gradient(case: Case) -> None:
    """The mean that backward uses must be in float32 too: with a bfloat16 one the error is a quarter."""
    for norm, dtype, shape, training in product(case.variants(), HALF, case.shapes(), (True, False)):
        module = norm.normalization(UNITS).train(training)
        x = (torch.randn(shape) + 100).to(dtype)
        cotangent = torch.randn(shape).to(dtype)
        exact = outcome(copy.deepcopy(module).double(), x.double(), cotangent)
        for found, expected in zip(outcome(module, x, cotangent)[1:], exact[1:], strict=True):
            compare(found.double(), expected, 0.02, f"gradient of {dtype} {shape}")


def layout_changes_nothing(case: Case) -> None:
    module, x = randomized(make(case.norm)), torch.randn(MAPS)
    cotangent = torch.randn(MAPS)
    expected = outcome(module, x, cotangent)
    views = {
        "channels_last": x.contiguous(memory_format=torch.channels_last),
        "samples last": x.permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0),
        "every second column": x.repeat_interleave(2, dim=3)[..., ::2],
        "every second channel": x.repeat_interleave(2, dim=1)[:, ::2],
    }
    for name, view in views.items():
        for found, same in zip(outcome(module, view, cotangent), expected, strict=True):
            compare(found, same, 1e-4, f"another memory layout ({name}) changes output or gradient")


def cancelled_bias_is_cancelled(case: Case) -> None:
    """... and one that could be is said to be: the layer would keep a bias that learns nothing."""
    module = case.norm.normalization(UNITS).double()
    x, bias = torch.randn(MAPS, dtype=torch.double), torch.randn(1, UNITS, 1, 1, dtype=torch.double)
    state = copy.deepcopy(module)
    cancelled = torch.allclose(module(x), state(x + bias), atol=1e-9)
    if case.norm.cancels_bias and not cancelled:
        raise Broken("cancels_bias is true, but a constant per channel changes the output")
    if cancelled and not case.norm.cancels_bias:
        raise Broken("cancels_bias is false, but a constant per channel changes nothing")


def name_of(memory_format: torch.memory_format) -> str:
    return str(memory_format).removeprefix("torch.")


def normalizes_or_claims(case: Case) -> bool:
    return (case.normalizes or case.norm.cancels_bias) and case.takes_maps


def on_activations_of_maps(case: Case) -> bool:
    return case.acts_on_activations and case.takes_maps


OF_NUMBERS = (
    Clause("finite output and gradient on constant input", finite_on_constant_input, on_activations),
    Clause("accurate in float32 at an offset of 1e6", accurate_at_an_offset, on_maps),
    Clause("half precision keeps statistics in float32", half_precision_keeps_statistics_in_float32, on_maps),
    Clause("gradients in half precision", half_precision_gradient, normalizes),
    Clause("memory layout changes nothing", layout_changes_nothing, on_activations_of_maps),
    Clause("a bias that is said to be cancelled is cancelled", cancelled_bias_is_cancelled, normalizes_or_claims),
)
