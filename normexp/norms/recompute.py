"""Functions that keep their inputs for backward and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def recomputed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """Return `function(*inputs)`, whose backward runs the function again instead of keeping what is in between.

    For elementwise formulae of several steps: their intermediates are as large as the input, and cheaper to
    compute twice than to write, keep and read. The function must have no side effects, and all tensors that
    it differentiates must be among the inputs.
    """
    if torch.compiler.is_compiling() or not torch.is_grad_enabled():  # the compiler decides what to keep itself
        return function(*inputs)
    return Recomputed.apply(function, *inputs)


class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        ctx.function = function
        ctx.save_for_backward(*inputs)
        return function(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        again = torch.is_grad_enabled()  # someone differentiates the gradient: stay attached to the inputs
        needed = ctx.needs_input_grad[1:]
        pairs = zip(ctx.saved_tensors, needed, strict=True)
        # A view of its own for each input: one input may be a function of another (a mean of x), and that path
        # belongs to the caller's graph.
        inputs = [x.view_as(x) if again else x.detach().requires_grad_(need) for x, need in pairs]
        with torch.enable_grad():
            output = ctx.function(*inputs)
        wanted = [tensor for tensor, need in zip(inputs, needed, strict=True) if need]
        found = iter(torch.autograd.grad(output, wanted, grads[0], create_graph=again))
        return None, *(next(found) if need else None for need in needed)
