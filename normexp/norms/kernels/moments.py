"""Mean and variance of each channel of each sample, the pieces that other statistics are made of.

Over samples, channels or groups of channels the mean is the mean of these means, and the variance the mean of
these variances plus the variance of these means: nothing cancels, and the input is read once for all of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from normexp.norms.base import at_least_float32
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.kernels.tiles import kept_by_others, tiles


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance over the positions of x: (N, C, *), each (N, C), in float32 at least."""
    if x.dim() == 2 or num_positions(x) == 1:
        mean = at_least_float32(x).flatten(1)
        return mean, torch.zeros_like(mean)
    return two_passes(x) if kept_by_others() else Moments.apply(x)


class Moments(torch.autograd.Function):
    """Keeps x itself, where operators in a row would keep x - mean as well."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, var = (torch.cat(each) for each in zip(*(two_passes(part) for (part,) in tiles(x)), strict=True))
        ctx.save_for_backward(x, mean)
        return mean, var

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        x, mean = ctx.saved_tensors
        count = num_positions(x)
        slope = 2 * grads[1] / count
        return scale_shift(x, slope, grads[0] / count - slope * mean)


def two_passes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance over the positions, each (N, C); nothing cancels."""
    count, wide = num_positions(x), at_least_float32(x)
    mean = position_sum(wide) / count
    mine = wide is not x and not kept_by_others()
    centred = wide.sub_(over_positions(mean, x)) if mine else wide - over_positions(mean, x)
    return mean, position_sum(centred.square_()) / count


def mean_square(x: Tensor) -> Tensor:
    """Return the mean of x^2 over the positions of x: (N, C, *), as (N, C), in float32 at least."""
    if x.dim() == 2 or num_positions(x) == 1:
        return at_least_float32(x).flatten(1).square()
    if kept_by_others():
        return position_sum(at_least_float32(x).square()) / num_positions(x)
    return MeanSquare.apply(x)


class MeanSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        dtype = torch.promote_types(x.dtype, torch.float32)
        norm = torch.linalg.vector_norm(x, dim=list(range(2, x.dim())), dtype=dtype)
        return norm.square() / num_positions(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (x * over_positions(grads[0] * (2 / num_positions(x)), x)).to(x.dtype)


def pooled(mean: Tensor, var: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance over one more dimension of equally many values each."""
    middle = mean.mean(dim)
    apart = mean - middle.unsqueeze(dim)  # not var(), which takes 20 times as long over few values in memory order
    return middle, var.mean(dim) + apart.square().mean(dim)


def over_positions(values: Tensor, x: Tensor) -> Tensor:
    """Return values: (C,) or (N, C) in a shape that broadcasts against x: (N, C, *)."""
    # Expanded to every sample, because a gradient is summed over positions 20 times faster than over samples too;
    # the rest of the sum, over (N, C), is nothing.
    values = values.expand(x.shape[0], -1) if values.dim() == 1 else values
    return values.reshape(*values.shape, *[1] * (x.dim() - 2))


def less(x: Tensor, mean: Tensor) -> Tensor:
    """Return x - mean in float32 at least, a tensor of its own; no gradient passes. The mean is (C,) or (N, C)."""
    wide = at_least_float32(x)
    new = wide is x or torch.compiler.is_compiling()  # torch 2.9's compiler takes no `out` in channels_last
    return torch.sub(wide, over_positions(mean, x), out=None if new else wide)


def position_sum(x: Tensor) -> Tensor:
    """Sum x: (N, C, *) over the positions, to (N, C)."""
    return x.sum(list(range(2, x.dim()))) if x.dim() > 2 else x


def channel_sum(x: Tensor) -> Tensor:
    """Sum x: (N, C, *) over samples and positions, to (C,)."""
    return x.sum([0, *range(2, x.dim())])


def wide_vectors(x: Tensor) -> Tensor:
    """Return x: (N, C, *) of one position in float32 at least, any other as it is.

    What enters both a statistic and the result gets two gradients: rounded to x's type as their sum, not each.
    """
    return at_least_float32(x) if num_positions(x) == 1 else x


def scaled(x: Tensor, scale: Tensor) -> Tensor:
    """Return x scale for (N, C) factors, rounded once to x's type; keeps x and the factors."""
    if x.itemsize >= 4 or num_positions(x) == 1:
        return multiply(x, scale).to(x.dtype)
    return recomputed(multiply, multiply_gradient, x, scale)  # in parts: no map in float32 is ever written to memory


def multiply(x: Tensor, scale: Tensor) -> Tensor:
    return x * over_positions(scale, x)


def multiply_gradient(grad: Tensor, x: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    return grad * over_positions(scale, x), position_sum(grad * x)


def scale_shift(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return x scale + shift for (N, C) or (C,) factors, rounded once to x's type; keeps x and the factors."""
    return recomputed(multiply_add, multiply_add_gradient, x, scale, shift)


def multiply_add(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    # Not addcmul, which a CPU does value by value where factors are broadcast over contiguous positions.
    return (x * over_positions(scale, x)).add_(over_positions(shift, x))


def multiply_add_gradient(grad: Tensor, x: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    grad_scale, grad_shift = position_sum(grad * x), position_sum(grad)
    return grad * over_positions(scale, x), summed_as(scale, grad_scale), summed_as(shift, grad_shift)


def summed_as(factor: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient (N, C) of a factor in its shape: (C,) or (N, C)."""
    return grad if factor.dim() > 1 else grad.sum(0)
