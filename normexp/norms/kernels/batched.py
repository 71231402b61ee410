"""Batch normalization by torch's fused kernels, on inputs of any rank.

Batch normalization and its relatives are one formula with different statistics or a different affine map, so
they share this module. `torch.nn.functional.batch_norm` computes the statistics and applies them at once;
`channel_statistics` and `Standardize` are its two halves, for schemes that do something in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.norms.base import at_least_float32
from normexp.norms.kernels.layout import is_channels_last
from normexp.norms.kernels.tiles import TILE, kept_by_others

# torch's kernel for channels_last on a CPU, which is that for one position, too, adds up a channel's values one by one
# in float32: its mean is off by 1e-7 to 1e-4 of itself, more on larger batches, which is nothing to a deviation of that
# size, 1 % of one a hundredth of it, and five of one a millionth of it. Above this mean^2/var the statistics are
# `shifted_statistics`.
MAX_RATIO = 1e3
SOME = 64  # values of a channel whose mean is near enough to that of all, or a few more
# float32 has 24 bits and bfloat16 8: 2^16 values of one size add up exactly, one by one, and twice as many to half a
# unit in the last place of one. Beyond that every addition may round to the same side.
EXACT = {torch.bfloat16: 2**17}
ROWS = 2**11  # of one position: of fewer, one by one loses little, and to look would cost more than it does on maps


class AnyRankBatchNorm(nn.modules.batchnorm._BatchNorm):
    """torch's batch normalization (its parameters, buffers and kernels) on (N, C, *) of any rank.

    With `unbiased`, training divides by the unbiased variance of the batch.
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    unbiased = False

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return super().forward(input)
        self._check_input_dim(input)
        check_batch(input, "batch normalization")
        self.num_batches_tracked.add_(1)
        momentum = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        weight: Tensor | None = self.weight
        eps = self.eps
        if self.unbiased:
            weight, eps = as_biased(weight, eps, input.numel() // input.shape[1], like=self.running_mean)
        return batch_norm(input, self.running_mean, self.running_var, weight, self.bias, momentum, eps)

    def extra_repr(self) -> str:
        return super().extra_repr() + ", unbiased=True" * self.unbiased

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"batch normalization needs an (N, C, *) input, not {tuple(input.shape)}")


class AlwaysBatchNorm(AnyRankBatchNorm):
    """The same with the batch's own statistics in evaluation too, but for a batch of one value per channel."""

    def forward(self, input: Tensor) -> Tensor:
        if self.training or input.numel() == input.shape[1]:
            return super().forward(input)
        estimates = self.running_mean.clone(), self.running_var.clone()
        return batch_norm(input, *estimates, self.weight, self.bias, 0.0, self.eps)


def as_biased(weight: Tensor | None, eps: float, count: int, like: Tensor) -> tuple[Tensor, float]:
    """Return the weight and eps with which division by a biased variance is what it was by the unbiased one.

    1 / sqrt(var n / (n - 1) + eps) = sqrt(share) / sqrt(var + share eps), for the share (n - 1) / n.

    Args:
        weight: (*, C), None for 1.
        count: n, the values per channel.
        like: (*, C), of the weight's type.
    """
    share = (count - 1) / count
    return torch.full_like(like, share**0.5) if weight is None else weight * share**0.5, share * eps


def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
) -> Tensor:
    """`F.batch_norm` in training, accurate, too, where means are far above deviations, but for a few rows (N, C).

    Where the estimates say so beforehand, the kernel's own statistics are not even computed.
    """
    if not adds_one_by_one(x):
        return F.batch_norm(x, running_mean, running_var, weight, bias, True, momentum, eps)
    # By their data: autograd of an earlier chunk of this batch holds the estimates, and never reads them.
    estimates = running_mean.data, running_var.data
    if not is_far(running_mean, (running_var + eps).rsqrt()):
        before = running_mean.clone(), running_var.clone()
        y, mean, rstd = torch.native_batch_norm(x, weight, bias, running_mean, running_var, True, momentum, eps)
        if not is_far(mean, rstd):
            return y
        move(estimates, before, 1.0)
    mean, var = shifted_statistics(x)
    move(estimates, (mean, unbiased(var, x)), momentum)
    ones, zeros = mean.new_ones(len(mean)), mean.new_zeros(len(mean))
    return Standardize.apply(x, ones if weight is None else weight, zeros if bias is None else bias, mean, var, eps)


def by_deviation(
    x: Tensor, mean: Tensor, std: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """`F.batch_norm` in evaluation by a deviation, whose square float16 may not hold."""
    mean, std = at_least_float32(mean), at_least_float32(std)
    weight, bias = (each if each is None else at_least_float32(each) for each in (weight, bias))
    return F.batch_norm(x, mean, std.square(), weight, bias, training=False, eps=eps)


def move(estimates: Sequence[Tensor], new: Sequence[Tensor], momentum: float) -> None:
    """Move running estimates towards new values, all the way with a momentum of 1."""
    for estimate, value in zip(estimates, new, strict=True):
        estimate.lerp_(value.to(estimate.dtype), momentum)


def unbiased(var: Tensor, x: Tensor) -> Tensor:
    """Return the unbiased variance per channel of x: (N, C, *), of which `var` is the biased one."""
    count = x.numel() // x.shape[1]
    return var * (count / (count - 1))


def is_far(mean: Tensor, rstd: Tensor) -> bool:
    """Tell whether a channel's mean is too many deviations from 0; NaN is not, which is for the caller to find."""
    return bool((mean * rstd).square().max() > MAX_RATIO)


@torch.no_grad()
def shifted_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance of each channel of x: (N, C, *), the channels last in memory, at any offset.

    One pass over x, in parts that stay in the cache, less a mean of some of its values: as fast as torch's kernel.
    """
    rows = x.movedim(1, -1).flatten(0, -2)  # (N *, C)
    near = at_least_float32(rows[:: max(len(rows) // SOME, 1)]).mean(0)  # from everywhere: the first may be unlike
    size = max(TILE * torch.get_num_threads() // len(near), 1)
    part, sums, squares = near.new_empty(size, len(near)), torch.zeros_like(near), torch.zeros_like(near)
    for values in rows.split(size):
        shifted = torch.sub(values, near, out=part[: len(values)])
        sums += shifted.sum(0)
        squares += shifted.square_().sum(0)
    shift = sums / len(rows)
    return near + shift, squares / len(rows) - shift.square()


def adds_one_by_one(x: Tensor) -> bool:
    """Tell whether torch's kernel for this layout adds up a channel's values one by one, more than add up exactly."""
    many = x.numel() > EXACT.get(x.dtype, 0) * x.shape[1]
    in_rows = x.numel() == len(x) * x.shape[1] and len(x) >= ROWS and x.is_contiguous()
    return many and x.is_cpu and not kept_by_others() and (in_rows or is_channels_last(x))


def check_batch(x: Tensor, name: str) -> None:
    """Raise ValueError for x: (N, C, *) with at most one value per channel, whose variance says nothing."""
    if x.numel() <= x.shape[1]:
        raise ValueError(f"{name} needs more than one value per channel in training, input has shape {tuple(x.shape)}")


@torch.no_grad()
def channel_statistics(x: Tensor, estimates: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance of each channel of x: (N, C, *), in float32 at least.

    Args:
        estimates: mean and deviation of earlier batches; where they are far apart, time is saved.
    """
    dtype = torch.float32 if x.itemsize < 4 else x.dtype
    if x.is_meta or torch.compiler.is_compiling():  # the kernel below knows neither
        var, mean = torch.var_mean(x.to(dtype), [dim for dim in range(x.dim()) if dim != 1], correction=0)
        return mean, var
    one_by_one = adds_one_by_one(x)
    if one_by_one and estimates is not None and is_far(estimates[0], estimates[1].reciprocal()):
        return shifted_statistics(x)
    # The kernel's own first half: 4 to 20 times faster than var_mean on a CPU, and it does not cancel either.
    zeros = x.new_zeros(x.shape[1], dtype=dtype)
    mean, var = torch.batch_norm_update_stats(x, zeros, zeros.clone(), 0.0)
    return shifted_statistics(x) if one_by_one and is_far(mean, var.rsqrt()) else (mean, var)


class Standardize(torch.autograd.Function):
    """x, weight, bias, mean, var -> weight (x - mean) / sqrt(var + eps) + bias, for the batch's own mean and var.

    Backward treats mean and var as the functions of x that they are, and weight and bias as whatever they are
    made of. Keeps x and vectors, as batch normalization does.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
        ctx.save_for_backward(x, weight, mean, (var + eps).rsqrt())
        ctx.eps = eps
        return F.batch_norm(x, mean, var, weight, bias, training=False, eps=eps)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, rstd = ctx.saved_tensors
        parts = torch.ops.aten.native_batch_norm_backward(
            grads[0], x, weight, None, None, mean, rstd, True, ctx.eps, [True, True, True]
        )
        return *parts, None, None, None
