"""Switchable normalization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.batched import check_batch, move, unbiased
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import moments, pooled, scale_shift
from normexp.norms.options import positive, share


class MixedNorm(PerChannel):
    """Normalize by a learned mixture of instance, layer and batch statistics."""

    gains_from_compile = True

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float, momentum: float, affine: bool) -> None:
        super().__init__(num_features)
        self.eps, self.momentum = eps, momentum
        self.mean_logits = nn.Parameter(torch.ones(3))  # instance, layer, batch
        self.var_logits = nn.Parameter(torch.ones(3))
        self.learn(affine, affine)
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        mean, var = moments(x)
        batch = self.batch_statistics(x, mean, var)
        means, variances = zip((mean, var), pooled(mean, var, 1), batch, strict=True)
        mixed_mean = mixture(means, self.mean_logits, x)
        mixed_var = mixture(variances, self.var_logits, x)
        scale = (mixed_var + self.eps).rsqrt()
        scale = scale if self.weight is None else scale * self.weight
        shift = -mixed_mean * scale
        shift = shift if self.bias is None else shift + self.bias
        return scale_shift(x, scale, shift)

    def batch_statistics(self, x: Tensor, mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance per channel, the batch's in training (which moves the running ones)."""
        if not self.training:
            return self.running_mean, self.running_var
        check_batch(x, "switchable normalization")
        mean, var = pooled(mean, var, 0)
        with torch.no_grad():
            move((self.running_mean, self.running_var), (mean, unbiased(var, x)), self.momentum)
        return mean, var


def mixture(statistics: tuple[Tensor, ...], logits: Tensor, x: Tensor) -> Tensor:
    """Return the weighted sum (N, C) of statistics per sample and channel, per sample, and per channel."""
    instance, layer, batch = statistics
    if x.dim() == 2 or num_positions(x) == 1:  # a single position has no statistics of its own
        shares = logits[1:].softmax(0)
        return shares[0] * layer.unsqueeze(1) + shares[1] * batch
    shares = logits.softmax(0)
    return shares[0] * instance + shares[1] * layer.unsqueeze(1) + shares[2] * batch


@dataclass(frozen=True, kw_only=True)
class SwitchableNorm(Norm):
    """A learned mixture of the statistics of instance, layer and batch normalization.

    y = weight (x - sum_k w_k mean_k) / sqrt(sum_k v_k var_k + eps) + bias, with weight = gamma, bias = beta,
    k over instance, layer and batch, w = softmax(mean_logits) and v = softmax(var_logits): six numbers per
    layer, all logits start at 1. Biased variances; layer and batch statistics are made of the instance ones.
    Training uses the batch's statistics in the third place and moves running estimates towards them (towards
    the unbiased variance), as in batch normalization; evaluation uses the running estimates there.
    With a single position, as on (N, C), there are no instance statistics: the softmax is over the other two.

    Args:
        eps: added to the mixed variance inside the root.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel.

    Source: Luo et al. 2019, arXiv:1806.10779.
    Differs: the authors' code takes the unbiased variance for instances, keeps the biased one of the batch in
    its running estimate, and has a rate of 0.003 on vectors; its layer for vectors takes unbiased variances for layer
    and batch too, and its running variance starts at 0.
    """

    eps: float = positive(1e-5)
    momentum: float = share(0.1)
    affine: bool = True

    def normalization(self, num_features: int) -> nn.Module:
        return MixedNorm(num_features, self.eps, self.momentum, self.affine)
