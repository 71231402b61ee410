"""Where a scheme works: sizes, precisions, compilation, memory formats. Each answer is `yes` or `no: why`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, nn

from normexp.errors import first_line
from normexp.norms.base import Norm
from normexp.norms.checks.subject import INPUTS, UNITS, refuses_maps, reproducible

YES = "yes"
ONE_EXAMPLE = ("batch of one vector", "batch of one image")
SMALL_BATCH = 32  # decorrelated batch norm needs more examples than the 16 channels of a group


def capabilities(norm: Norm, *, backend: str = "aot_eager", cases: Collection[str] = ()) -> dict[str, str]:
    """Try every case of use, or those that are named, in training with one backward pass.

    Args:
        backend: torch.compile's: `aot_eager` compiles to plain torch, `inductor` to machine code (seconds).
    """
    trials: dict[str, Callable[[Norm], object]] = {
        "vectors": lambda norm: train(dense(norm), torch.randn(SMALL_BATCH, INPUTS)),
        "batch of one vector": lambda norm: train(dense(norm), torch.randn(1, INPUTS)),
        "batch of one image": lambda norm: train(convolution(norm), torch.randn(1, INPUTS, 6, 5)),
        "1 x 1 maps": lambda norm: train(convolution(norm), torch.randn(SMALL_BATCH, INPUTS, 1, 1)),
        "recurrent steps": recurrent_steps,
        "float16": lambda norm: half_precision(norm, torch.float16),
        "bfloat16": lambda norm: half_precision(norm, torch.bfloat16),
        "autocast": autocast,
        "compile": lambda norm: compiled(norm, backend),
        "channels last": channels_last,
    }
    return {name: attempt(trial, norm) for name, trial in trials.items() if not cases or name in cases}


def attempt(trial: Callable[[Norm], object], norm: Norm) -> str:
    """Return `yes`, or `no: ` and the first line of the error."""
    with reproducible(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trial(norm)
        except Exception as error:  # whatever a scheme raises is the answer
            return f"no: {first_line(error)}"
    return YES


def dense(norm: Norm) -> nn.Module:
    return norm.block(nn.Linear(INPUTS, UNITS), nn.ReLU())


def convolution(norm: Norm) -> nn.Module:
    return norm.block(nn.Conv2d(INPUTS, UNITS, 3, padding=1), nn.ReLU())


def layer_and_inputs(norm: Norm) -> tuple[nn.Module, Tensor]:
    """Return a convolution under the scheme, and maps; a linear layer and vectors where it refuses maps."""
    shape = inputs_shape(norm, INPUTS)
    return dense(norm) if len(shape) == 2 else convolution(norm), torch.randn(shape)


def inputs_shape(norm: Norm, channels: int) -> tuple[int, ...]:
    return (SMALL_BATCH, channels) if refuses_maps(norm) else (4, channels, 6, 5)


def train(block: nn.Module, x: Tensor) -> Tensor:
    """Return the block's output after one forward and backward pass; refuse numbers that are not finite."""
    y: Tensor = block(x)
    y.float().square().mean().backward()
    grads = [parameter.grad for parameter in block.parameters() if parameter.grad is not None]
    if not all(each.isfinite().all() for each in (y, *grads)):
        raise ValueError("output or gradient is not finite")
    return y.detach()


def recurrent_steps(norm: Norm) -> None:
    module: Any = norm.recurrent(UNITS, 3)
    x = torch.randn(SMALL_BATCH, UNITS, requires_grad=True)
    for step in range(3):
        y = module(x, step)
        if y.shape != x.shape or not y.isfinite().all():
            raise ValueError(f"step {step}: output of shape {tuple(y.shape)} or not finite")
    y.sum().backward()


def half_precision(norm: Norm, dtype: torch.dtype) -> None:
    """Give activations of half precision to a module whose parameters are float32, as autocast does."""
    module = nn.Sequential(norm.normalization(UNITS), norm.nonlinearity(nn.ReLU()))
    x = torch.randn(inputs_shape(norm, UNITS)).to(dtype)
    expected = copy.deepcopy(module)(x.float())
    y = train(module, x.clone().requires_grad_())
    if y.dtype != dtype:
        raise ValueError(f"output is {y.dtype}")
    close(y, expected, 0.02)


def autocast(norm: Norm) -> None:
    block, x = layer_and_inputs(norm)
    expected = copy.deepcopy(block)(x)
    with torch.autocast("cpu", torch.bfloat16):
        y = train(block, x)
    close(y, expected, 0.1)


def compiled(norm: Norm, backend: str) -> None:
    torch.compiler.reset()
    block, x = layer_and_inputs(norm)
    expected = train(copy.deepcopy(block), x)  # a copy: a step of training may move the block's state
    close(train(torch.compile(block, backend=backend), x), expected, 1e-3)  # type: ignore[arg-type]


def channels_last(norm: Norm) -> None:
    block, x = convolution(norm), torch.randn(4, INPUTS, 6, 5)
    expected = train(copy.deepcopy(block), x)
    y = train(block, x.contiguous(memory_format=torch.channels_last))
    close(y, expected, 1e-3)
    if not y.is_contiguous(memory_format=torch.channels_last):
        raise ValueError("the output is in another memory format")


def close(found: Tensor, expected: Tensor, tolerance: float) -> None:
    """Refuse a difference above `tolerance` times the largest number."""
    error = float((found.float() - expected.float()).abs().max() / expected.abs().max())
    if not error <= tolerance:
        raise ValueError(f"the numbers differ by {error:.2g} of the largest")
