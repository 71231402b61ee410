"""Formulae over whole maps, each of which a compiler makes one loop, with small statistics between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normexp.norms.base import at_least_float32
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import over_positions, position_sum

EVERY = 16  # position of which one tells where the values lie: a share of q puts it within sqrt(1 / q) deviations
Small = tuple[Tensor, ...]  # of (N, C) or (C,)


class Loops(NamedTuple):
    """What reads or writes maps (N, C, *), for `compile=norms`.

    One graph of all would compute the statistics in between again for every value, by an index that keeps its loop
    from being vectorized where channels share one, and would write what is cheaper to compute twice.

    Args:
        statistics: x -> (N, C) each.
        forward: x and the layer's factors -> the output.
        sums: the output's gradient, x and the factors -> sums over positions, (N, C) each.
        backward: the output's gradient, x and the layer's slopes -> the gradient of x.
    """

    statistics: Callable[..., Small]
    forward: Callable[..., Tensor]
    sums: Callable[..., Small]
    backward: Callable[..., Tensor]


class Layer(Protocol):
    """A module that knows what lies between its loops."""

    v: Tensor
    affine: Sequence[Tensor]

    def check(self, x: Tensor) -> None:
        """Raise ValueError for a shape that the module refuses."""

    def factors(self, x: Tensor, statistics: Small, *parameters: Tensor) -> Small:
        """Return what `forward` and `sums` need beside x."""

    def slopes(self, x: Tensor, sums: Small, *factors: Tensor) -> tuple[Small, Small]:
        """Return what `backward` needs beside the gradient and x, and the gradients of the parameters."""


class InLoops(torch.autograd.Function):
    """A layer by its loops. Keeps x and what is small; has no second derivative, as no compiled layer has."""

    @staticmethod
    def forward(ctx: Any, layer: Layer, loops: Loops, x: Tensor, *parameters: Tensor) -> Tensor:
        factors = layer.factors(x, loops.statistics(x), *parameters)
        ctx.layer, ctx.loops = layer, loops
        ctx.save_for_backward(x, *factors)
        return loops.forward(x, *factors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, *factors = ctx.saved_tensors
        slopes, of_parameters = ctx.layer.slopes(x, ctx.loops.sums(grad, x, *factors), *factors)
        return None, None, ctx.loops.backward(grad, x, *slopes), *of_parameters


def in_loops(layer: Layer, loops: Loops, x: Tensor) -> Tensor:
    """Return the layer's output by its loops, which may be compiled. Raises ValueError as the layer does."""
    layer.check(x)
    y: Tensor = InLoops.apply(layer, loops, x, layer.v, *layer.affine)
    return y


def shifted_moments(x: Tensor) -> Small:
    """Return mean and biased variance over the positions of x: (N, C, *), each (N, C), in one loop over all values.

    Of x less the mean of some positions: that these are a sixteenth of all bounds what can cancel, at any offset and
    wherever unusual values lie.
    """
    near = at_least_float32(x.flatten(2)[:, :, ::EVERY]).mean(2)
    apart, count = at_least_float32(x) - over_positions(near, x), num_positions(x)
    shift, square = position_sum(apart) / count, position_sum(apart.square()) / count
    return near + shift, square - shift.square()
