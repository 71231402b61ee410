"""Instance normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.grouped import GroupedNorm
from normexp.norms.options import positive

LARGE = 2**15  # values per sample, from which the kernel for one sample takes longer than its call


class MapNorm(GroupedNorm):
    """Group normalization with one group per channel: the same formula as nn.InstanceNorm2d, and x's memory format.

    Large maps in channels_last on a CPU, where the backward of that kernel takes ten times that of the contiguous
    format, are batches of one for batch normalization instead. Forward and backward on one core take about as long as
    nn.InstanceNorm2d, whose output is always contiguous; in channels_last up to 1.8 times as long on maps of 8 x 8,
    half as long on those of 32 x 32.
    """

    def __init__(self, num_features: int, eps: float, affine: bool) -> None:
        super().__init__(num_features, num_features, eps, affine)

    def forward(self, x: Tensor) -> Tensor:
        contiguous = x.is_contiguous() or not x.movedim(1, -1).is_contiguous()
        if contiguous or not x.is_cpu or x[:1].numel() < LARGE or torch.compiler.is_compiling():
            return super().forward(x)
        wide = torch.promote_types(x.dtype, torch.float32)  # what the kernel keeps statistics in
        weight = torch.ones(x.shape[1], dtype=wide) if self.weight is None else self.weight
        bias = torch.zeros(x.shape[1], dtype=wide) if self.bias is None else self.bias
        return SampleBySample.apply(x, weight, bias, self.eps)


class SampleBySample(torch.autograd.Function):
    """Batch normalization of every sample alone. Keeps x and two numbers per map."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        y, statistics = torch.empty_like(x), []
        for n, sample in enumerate(x.split(1)):
            part, mean, rstd = torch.native_batch_norm(sample, weight, bias, None, None, True, 0.0, eps)
            y[n : n + 1] = part
            statistics.append((mean, rstd))
        ctx.eps = eps
        ctx.save_for_backward(x, weight, *(torch.stack(each) for each in zip(*statistics, strict=True)))
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, means, rstds = ctx.saved_tensors
        grad_x, rest = torch.empty_like(x), []
        samples = zip(grads[0].split(1), x.split(1), means, rstds, strict=True)
        for n, (grad, sample, mean, rstd) in enumerate(samples):
            part, *affine = torch.ops.aten.native_batch_norm_backward(
                grad, sample, weight, None, None, mean, rstd, True, ctx.eps, [True, True, True]
            )
            grad_x[n : n + 1] = part
            rest.append(affine)
        return grad_x, *(torch.stack(each).sum(0) for each in zip(*rest, strict=True)), None


@dataclass(frozen=True, kw_only=True)
class InstanceNorm(Norm):
    """Mean and variance of each channel of each sample over its positions.

    y = weight (x - mean) / sqrt(var + eps) + bias; biased variance.
    Training and evaluation use the same formula; no sample depends on another.

    Shape: (N, C, *) -> (N, C, *), with more than one position.

    Raises:
        ValueError: if a channel has a single position: (N, C) after a Linear layer, or N x C x 1 x 1.

    Source: Ulyanov, Vedaldi & Lempitsky 2016, arXiv:1607.08022, the equation of section 2.
    Differs: weight starts at 1, in the authors' code uniformly in (0, 1).
    """

    eps: float = positive(1e-5)
    affine: bool = True
    cancels_bias = True

    def normalization(self, num_features: int) -> nn.Module:
        return MapNorm(num_features, self.eps, self.affine)
