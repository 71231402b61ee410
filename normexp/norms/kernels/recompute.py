"""Functions that keep their inputs for backward and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from normexp.norms.base import at_least_float32
from normexp.norms.kernels.layout import is_channels_last
from normexp.norms.kernels.tiles import kept_by_others, samples, tiled, tiles

Function = Callable[..., Tensor]
Gradient = Callable[..., tuple[Tensor, ...]]


def recomputed(function: Function, gradient: Gradient, x: Tensor, *others: Tensor) -> Tensor:
    """Return `function(x, *others)`, whose backward is `gradient(grad, x, *others)`, a few samples at a time.

    For formulae of several steps that treat samples alone: their intermediates are as large as x, and cheaper to
    compute twice in the cache than to write, keep and read. Tensors with a sample's row each are cut as x is;
    the gradients of vectors and scalars are summed over the slices. Both functions get x and grad in float32 at
    least and must have no side effects. A second derivative is that of `function`.
    What is left of the cost is arithmetic: a pass over the cache for every operator, more of them than passes over
    memory, and for half precision in float32.

    Args:
        function: x: (N, C, *) and the others -> (N, C, *), of operators that can be differentiated twice.
        gradient: the gradient of its output, x and the others -> a gradient for x and each of the others.
    """
    if kept_by_others() or not torch.is_grad_enabled():
        return tiled(function, x, *others)
    return Recomputed.apply(function, gradient, x, *others)


def pointwise(function: Function, gradient: Gradient, x: Tensor, *others: Tensor) -> Tensor:
    """Return `recomputed(...)` of a formula that treats values alone, with vectors (C,) and scalars for the others.

    In channels_last every position is a row of its own, so that maps of any size fit into the cache in parts.
    """
    if kept_by_others() or not is_channels_last(x):
        return recomputed(function, gradient, x, *others)
    last = x.movedim(1, -1)
    return recomputed(function, gradient, last.flatten(0, -2), *others).view(last.shape).movedim(-1, 1)


class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, gradient: Gradient, *inputs: Tensor) -> Tensor:
        ctx.function, ctx.gradient = function, gradient
        ctx.save_for_backward(*inputs)
        return tiled(function, *inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # someone differentiates the gradient
            return None, None, *derived(ctx.function, ctx.needs_input_grad[2:], grads[0], ctx.saved_tensors)
        return None, None, *summed(ctx.gradient, grads[0], *ctx.saved_tensors)


def summed(gradient: Gradient, grad: Tensor, x: Tensor, *others: Tensor) -> list[Tensor]:
    """Return the gradients of all inputs: slices put together for what has a row per sample, the rest added up."""
    if len(x) <= samples(x):
        return list(gradient(at_least_float32(grad), at_least_float32(x), *others))
    found = [torch.empty_like(each) if each.dim() > 1 else torch.zeros_like(each) for each in (x, *others)]
    for part, grad_part, *rest in tiles(x, grad, *others, *found):
        inputs, outs = rest[: len(others)], rest[len(others) :]
        each_grad = gradient(at_least_float32(grad_part), at_least_float32(part), *inputs)
        for out, value in zip(outs, each_grad, strict=True):
            out.copy_(value) if out.dim() > 1 else out.add_(value)
    return found


def derived(function: Function, needed: Sequence[bool], grad: Tensor, inputs: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the gradients that are needed, attached to the inputs."""
    # A view of its own for each input: one input may be a function of another (a mean of x), and that path
    # belongs to the caller's graph.
    inputs = [each.view_as(each) for each in inputs]
    y = function(at_least_float32(inputs[0]), *inputs[1:]).to(inputs[0].dtype)
    wanted = [each for each, need in zip(inputs, needed, strict=True) if need]
    found = iter(torch.autograd.grad(y, wanted, grad, create_graph=True))
    return [next(found) if need else None for need in needed]
