"""Mean-only batch normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import NOTHING, PerChannel
from normexp.norms.kernels.batched import check_batch, move
from normexp.norms.options import share


def wide_channel_sum(x: Tensor) -> Tensor:
    """Sum x: (N, C, *) over all axes but the channels', in float32 at least."""
    if x.device.type == "cpu" and x.itemsize < 4:
        # The one CPU kernel that reads half precision and sums in float32 without making a float32 copy of x.
        zeros = x.new_zeros(x.shape[1], dtype=torch.float32)
        mean, _ = torch.batch_norm_update_stats(x, zeros, zeros.clone(), 0.0)
        return mean * (x.numel() // x.shape[1])
    dtype = torch.float32 if x.itemsize < 4 else x.dtype
    if x.dim() == 2:
        return x.sum(0, dtype=dtype)
    last = x.movedim(1, -1)
    if last.is_contiguous():  # channels_last: one sum per sample keeps every core busy
        return last.reshape(x.shape[0], -1, x.shape[1]).sum(1, dtype=dtype).sum(0)
    return x.sum([dim for dim in range(x.dim()) if dim != 1], dtype=dtype)


def add_per_channel(x: Tensor, amount: Tensor) -> Tensor:
    """Return x + amount: (N, C, *) + (C,) in x's type and memory format, rounded once."""
    if x.itemsize >= 4:
        return x + (amount if x.dim() == 2 else amount.view(-1, *[1] * (x.dim() - 2)))
    # The evaluation kernel of batch normalization: half precision in and out, float32 between, and no copy.
    ones = torch.ones_like(amount)
    return F.batch_norm(x, torch.zeros_like(amount), ones, ones, amount, training=False, eps=NOTHING)


class SubtractMean(torch.autograd.Function):
    """x, bias -> x - mean + bias, mean. Keeps nothing of x for backward: one sum and one addition each way.

    Written without `setup_context`, whose dispatch costs as much as the arithmetic of a small layer.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        mean = wide_channel_sum(x) / (x.numel() // x.shape[1])
        shift = -mean if bias is None else bias - mean
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.mark_non_differentiable(mean)
        return add_per_channel(x, shift), mean

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None]:
        total = wide_channel_sum(grads[0])
        grad_x = add_per_channel(grads[0], -total / (grads[0].numel() // grads[0].shape[1]))
        return grad_x, None if ctx.bias_dtype is None else total.to(ctx.bias_dtype)


class MeanOnly(PerChannel):
    """Subtract each channel's batch mean in training, its running mean in evaluation; then add `bias`."""

    running_mean: Tensor

    def __init__(self, num_features: int, momentum: float, affine: bool) -> None:
        super().__init__(num_features)
        self.momentum = momentum
        self.learn(weight=False, bias=affine)
        self.register_buffer("running_mean", torch.zeros(num_features))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            shift = -self.running_mean if self.bias is None else self.bias - self.running_mean
            return add_per_channel(x, at_least_float32(shift))
        check_batch(x, "mean-only batch normalization")
        y, mean = SubtractMean.apply(x, self.bias)
        move([self.running_mean], [mean], self.momentum)
        return y


@dataclass(frozen=True, kw_only=True)
class MeanOnlyBatchNorm(Norm):
    """The mean of each channel over the batch and all positions; no division.

    y = x - mean + bias. Training uses the batch's mean and moves a running mean towards it; evaluation uses
    the running mean. The scale is left to the weights: see `weight_mean_only`.

    Args:
        momentum: weight of the new batch in the running mean (the paper's code: 0.1).
        affine: learn `bias` (starts at 0).
        placement: `pre` centres what enters the nonlinearity as in the paper, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 4, equation 7.
    Differs: nothing. The released code's option `mean_only_bn` also normalizes weights; this one does not.
    """

    momentum: float = share(0.1)
    affine: bool = True
    cancels_bias = True

    def normalization(self, num_features: int) -> nn.Module:
        return MeanOnly(num_features, self.momentum, self.affine)
