"""Batch renormalization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import NOTHING, PerChannel
from normexp.norms.kernels.batched import Standardize, by_deviation, channel_statistics, check_batch, move
from normexp.norms.kernels.held import held
from normexp.norms.options import at_least, positive, share


class Limit:
    """A bound that is `start` for `wait` batches and then moves in a straight line to `end`, reached at `until`."""

    def __init__(self, start: float, end: float, wait: int, until: int) -> None:
        self.start, self.end, self.wait, self.until = start, end, wait, until

    def at(self, step: Tensor) -> Tensor:
        """Return the bound after `step` batches, where the step is, without waiting for it."""
        share = (step - self.wait).clamp(0) / max(self.until - self.wait, 1)
        if self.until <= self.wait:  # a step, no line
            share = (step >= self.wait).to(step.dtype)
        return self.start + (self.end - self.start) * share.clamp(max=1)


class BatchRenormalization(PerChannel):
    """Batch normalization, then the affine map that turns batch statistics into running ones, within limits."""

    running_mean: Tensor
    running_std: Tensor
    num_batches_tracked: Tensor

    def __init__(self, num_features: int, eps: float, momentum: float, affine: bool, rmax: Limit, dmax: Limit) -> None:
        super().__init__(num_features)
        self.eps, self.momentum = eps, momentum
        self.rmax, self.dmax = rmax, dmax
        self.learn(affine, affine)
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            # The running deviation already contains eps.
            return by_deviation(x, self.running_mean, self.running_std, self.weight, self.bias, NOTHING)
        check_batch(x, "batch renormalization")
        mean, var = channel_statistics(x, (self.running_mean, self.running_std))
        r, d = self.correction(mean, (var + self.eps).sqrt())
        if torch.compiler.is_compiling():
            r, d = held(r), held(d)
        weight = r if self.weight is None else self.weight * r
        bias = d if self.weight is None or self.bias is None else self.weight * d + self.bias
        return Standardize.apply(x, weight, bias, mean, var, self.eps)

    @torch.no_grad()
    def correction(self, mean: Tensor, std: Tensor) -> tuple[Tensor, Tensor]:
        """Return r and d of a batch, both constants to the gradient, and move the running estimates by it."""
        step = self.num_batches_tracked.to(self.running_std.dtype)
        rmax, dmax = self.rmax.at(step), self.dmax.at(step)
        r = (std / self.running_std).clamp(1 / rmax, rmax)
        d = ((mean - self.running_mean) / self.running_std).clamp(-dmax, dmax)
        self.num_batches_tracked += 1
        move((self.running_mean, self.running_std), (mean, std), self.momentum)
        return r.to(mean.dtype), d.to(mean.dtype)


@dataclass(frozen=True, kw_only=True)
class BatchRenorm(Norm):
    """Batch normalization corrected towards the running estimates, so that training resembles evaluation.

    y = weight ((x - mean) / std r + d) + bias, with weight = gamma, bias = beta, std = sqrt(var + eps),
    r = std / running_std within [1/rmax, rmax] and d = (mean - running_mean) / running_std within
    [-dmax, dmax]. No gradient flows through r and d. With r = 1 and d = 0 this is batch normalization.
    Training uses the batch's mean and biased variance and moves running averages of mean and std (of the
    deviation itself, not of the variance); evaluation is weight (x - running_mean) / running_std + bias.
    The limits rise with the batches that the module has seen, which `num_batches_tracked` counts: 1 and 0 for
    `warmup` batches, then in a straight line. The defaults are those of a long run: one of fewer than `warmup` batches
    trains batch normalization, and is told so.

    Args:
        eps: added to the variance inside the root, in training; the running deviation contains it.
        rmax: final limit of the scale correction r; 1 switches it off.
        dmax: final limit of the shift correction d; 0 switches it off.
        warmup: batches of plain batch normalization at the start.
        rmax_at: batch at which rmax is reached; not above `warmup`: at once.
        dmax_at: batch at which dmax is reached; not above `warmup`: at once.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel.

    Source: Ioffe 2017, arXiv:1702.03275, and its schedule. That the deviation itself is averaged, the
    rate of 0.01 and the place of eps were not compared with the paper.
    Differs: the running estimates start at 0 and 1.
    """

    eps: float = positive(1e-5)
    momentum: float = share(0.01)
    affine: bool = True
    rmax: float = at_least(1, 3.0)
    dmax: float = at_least(0, 5.0)
    warmup: int = at_least(0, 5000)
    rmax_at: int = at_least(0, 40000)
    dmax_at: int = at_least(0, 25000)
    # Beyond the warm-up a constant moves d, which tends back as the running mean follows; but the gradient of such a
    # constant is 0 throughout, so there is nothing to learn.
    cancels_bias = True

    def normalization(self, num_features: int) -> nn.Module:
        rmax = Limit(1.0, self.rmax, self.warmup, self.rmax_at)
        dmax = Limit(0.0, self.dmax, self.warmup, self.dmax_at)
        return BatchRenormalization(num_features, self.eps, self.momentum, self.affine, rmax, dmax)
