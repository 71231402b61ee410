"""Mean and variance of each channel of each sample, the pieces that other statistics are made of.

Over samples, channels or groups of channels the mean is the mean of these means, and the variance the mean of
these variances plus the variance of these means: nothing cancels, and the input is read once for all of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from normexp.norms.base import at_least_float32


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance over the positions of x: (N, C, *), each (N, C), in float32 at least."""
    if x.dim() == 2 or x[0, 0].numel() == 1:
        mean = at_least_float32(x).flatten(1)
        return mean, torch.zeros_like(mean)
    return Moments.apply(x)


class Moments(torch.autograd.Function):
    """Keeps x itself, where operators in a row would keep x - mean as well; x is 2 to 8 times the time of a copy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        positions = list(range(2, x.dim()))
        mean = x.sum(positions, dtype=torch.promote_types(x.dtype, torch.float32)) / x[0, 0].numel()
        centred = x - over_positions(mean, x)
        var = centred.square_().sum(positions) / x[0, 0].numel()
        ctx.save_for_backward(x, mean)
        return mean, var

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        x, mean = ctx.saved_tensors
        count = x[0, 0].numel()
        slope = 2 * grads[1] / count
        return scale_shift(x, slope, grads[0] / count - slope * mean)


def mean_square(x: Tensor) -> Tensor:
    """Return the mean of x^2 over the positions of x: (N, C, *), as (N, C), in float32 at least."""
    if x.dim() == 2 or x[0, 0].numel() == 1:
        return at_least_float32(x).flatten(1).square()
    return MeanSquare.apply(x)


class MeanSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        dtype = torch.promote_types(x.dtype, torch.float32)
        norm = torch.linalg.vector_norm(x, dim=list(range(2, x.dim())), dtype=dtype)
        return norm.square() / x[0, 0].numel()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (x * over_positions(grads[0] * (2 / x[0, 0].numel()), x)).to(x.dtype)


def pooled(mean: Tensor, var: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance over one more dimension of equally many values each."""
    return mean.mean(dim), var.mean(dim) + mean.var(dim, correction=0)


def over_positions(values: Tensor, x: Tensor) -> Tensor:
    """Return values: (C,) or (N, C) in a shape that broadcasts against x: (N, C, *)."""
    # Expanded to every sample, because a gradient is summed over positions 20 times faster than over samples too;
    # the rest of the sum, over (N, C), is nothing.
    values = values.expand(x.shape[0], -1) if values.dim() == 1 else values
    return values.reshape(*values.shape, *[1] * (x.dim() - 2))


def scale_shift(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return x scale + shift for (N, C) or (C,) factors, rounded once to x's type; keeps x and the factors."""
    return torch.addcmul(over_positions(shift, x), x, over_positions(scale, x)).to(x.dtype)
