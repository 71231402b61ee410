"""Groups of channels of one sample, for large maps in channels_last on a CPU.

torch's own kernel for groups goes through a group's few channels value by value in its backward pass, and on maps of
less than 32 x 32 in the forward one too. Its kernels for batches take rows of channels: the positions of a sample are
their batch here, and what they find for channels is put together for groups.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from normexp.norms.base import at_least_float32
from normexp.norms.kernels.layout import is_channels_last, num_positions
from normexp.norms.kernels.moments import over_positions, pooled
from normexp.norms.kernels.recompute import derived
from normexp.norms.kernels.tiles import kept_by_others, tiles

LARGE = 2**15  # values per sample, from which a kernel for one sample takes longer than its call


def pays(x: Tensor) -> bool:
    """Tell whether x: (N, C, *) is best normalized sample by sample."""
    return x.is_cpu and is_channels_last(x) and x[:1].numel() >= LARGE and not kept_by_others()


def rows(x: Tensor) -> tuple[Tensor, ...]:
    """Return the samples of x: (N, C, *) in channels_last, a row of channels for each position."""
    return x.movedim(1, -1).flatten(1, -2).unbind()


@torch.no_grad()
def statistics(x: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance of groups of channels: (N, groups), in float32 at least."""
    zeros = x.new_zeros(x.shape[1], dtype=torch.promote_types(x.dtype, torch.float32))
    found = [torch.batch_norm_update_stats(sample, zeros, zeros.clone(), 0.0) for sample in rows(x)]
    mean, var = (torch.stack(each).unflatten(1, (groups, -1)) for each in zip(*found, strict=True))
    return pooled(mean, var, 2)


class StandardizeSamples(torch.autograd.Function):
    """x, weight, bias, mean, var -> weight (x - mean) / sqrt(var + eps) + bias, with a row per sample for mean and var.

    Backward treats mean and var as the functions of x that they are: mean and variance of groups of channels, or 0 and
    the mean of squares where nothing is `centred`. Keeps x, vectors and rows.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, var: Tensor, eps: float, centred: bool
    ) -> Tensor:
        ctx.save_for_backward(x, weight, bias, mean, (var + eps).rsqrt())
        ctx.eps, ctx.centred = eps, centred
        y, each = torch.empty_like(x), x.shape[1] // mean.shape[1]
        left = mean.new_empty(0), mean.new_empty(0)
        for values, out, *own in zip(rows(x), rows(y), spread(mean, each), spread(var, each), strict=True):
            into = {"out": out, "save_mean": left[0], "save_invstd": left[1]}
            torch.ops.aten.native_batch_norm.out(values, weight, bias, *own, False, 0.0, eps, **into)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, rstd = ctx.saved_tensors
        if torch.is_grad_enabled():  # someone differentiates the gradient

            def plain(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
                return written_out(x, weight, bias, mean.shape[1], ctx.eps, ctx.centred)

            return *derived(plain, ctx.needs_input_grad[:3], grads[0], (x, weight, bias)), None, None, None, None
        each = x.shape[1] // mean.shape[1]
        dots, totals = gradient_sums(grads[0], x, spread(mean, each))
        slope = (dots * weight).unflatten(1, (-1, each)).sum(2) * rstd**3 / -(num_positions(x) * each)
        level = (totals * weight).unflatten(1, (-1, each)).sum(2) * rstd / -(num_positions(x) * each)
        shift = level - slope * mean if ctx.centred else torch.zeros_like(level)
        rstd = spread(rstd, each)
        grad_x = combined(grads[0], x, rstd * weight, spread(slope, each), spread(shift, each))
        return grad_x, (dots * rstd).sum(0), totals.sum(0), None, None, None, None


def standardized(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, statistics: tuple[Tensor, Tensor], eps: float, centred: bool
) -> Tensor:
    """Return weight (x - mean) / sqrt(var + eps) + bias for what the statistics of groups are: (N, groups).

    Args:
        weight: (C,), 1 where there is none.
        bias: (C,), 0 where there is none.
        statistics: mean and variance, or 0 and the mean of squares where x is not to be `centred`.
    """
    wide = statistics[0]
    weight = wide.new_ones(x.shape[1]) if weight is None else weight.to(wide.dtype).contiguous()
    bias = wide.new_zeros(x.shape[1]) if bias is None else bias.to(wide.dtype)
    y: Tensor = StandardizeSamples.apply(x, weight, bias, *statistics, eps, centred)
    return y


def of_one_size(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """Return weight x / sqrt(mean(x^2) + eps), with the mean over channels and positions of each sample."""
    mean, var = statistics(x, 1)
    return standardized(x, weight, None, (torch.zeros_like(mean), var + mean.square()), eps, centred=False)


def spread(values: Tensor, each: int) -> Tensor:
    """Return values: (N, groups) for each of the channels: (N, groups x each)."""
    return values.repeat_interleave(each, 1)


def gradient_sums(grad: Tensor, x: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sums over positions of grad (x - mean) and of grad: (N, C), for mean: (N, C)."""
    one = mean.new_ones(mean.shape[1])
    found = [
        torch.ops.aten.native_batch_norm_backward(*parts, one, None, None, middle, one, True, 0.0, [False, True, True])
        for *parts, middle in zip(rows(grad), rows(x), mean, strict=True)
    ]
    _, dots, totals = zip(*found, strict=True)
    return torch.stack(dots), torch.stack(totals)


def combined(grad: Tensor, x: Tensor, scale: Tensor, slope: Tensor, shift: Tensor) -> Tensor:
    """Return scale grad + slope x + shift for factors: (N, C), rounded once to x's type."""
    y, factors = torch.empty_like(x), (over_positions(each, x) for each in (scale, slope, shift))
    for out, grad_part, part, by_grad, by_x, rest in tiles(y, grad, x, *factors):
        value = torch.addcmul(rest, at_least_float32(part), by_x)
        out.copy_(value.addcmul_(at_least_float32(grad_part), by_grad))
    return y


def written_out(x: Tensor, weight: Tensor, bias: Tensor, groups: int, eps: float, centred: bool) -> Tensor:
    """Return what `StandardizeSamples` computes, in operators that can be differentiated twice."""
    values = x.unflatten(1, (groups, -1)).flatten(2)
    apart = values - values.mean(2, keepdim=True) if centred else values
    y = apart * (apart.square().mean(2, keepdim=True) + eps).rsqrt()
    return y.reshape(x.shape) * over_positions(weight, x) + over_positions(bias, x)
