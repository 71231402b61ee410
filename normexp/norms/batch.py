"""Batch normalization."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.batched import AnyRankBatchNorm, batch_norm, by_deviation, check_batch
from normexp.norms.networks.population import ESTIMATES, estimate
from normexp.norms.options import one_of, positive, share


class DeviationBatchNorm(PerChannel):
    """Batch normalization whose running estimate averages standard deviations and starts at 0."""

    running_mean: Tensor
    running_std: Tensor
    num_batches_tracked: Tensor

    def __init__(self, num_features: int, eps: float, momentum: float, affine: bool, bias_correction: bool) -> None:
        super().__init__(num_features)
        self.eps, self.momentum = eps, momentum
        self.bias_correction = bias_correction
        self.learn(affine, affine)
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.zeros(num_features))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return by_deviation(x, *self.estimates(), self.weight, self.bias, self.eps)
        check_batch(x, "batch normalization")
        # With momentum 1 the kernel leaves its own mean and unbiased variance in these, at no cost.
        mean, var = self.running_mean.clone(), self.running_std.square()
        y = batch_norm(x, mean, var, self.weight, self.bias, 1.0, self.eps)
        self.observe(mean, var, x.numel() // x.shape[1])
        return y

    @torch.no_grad()
    def observe(self, mean: Tensor, unbiased_var: Tensor, count: int) -> None:
        """Move the running estimates by one batch of `count` values per channel."""
        self.num_batches_tracked += 1
        self.running_mean.lerp_(mean, self.momentum)
        self.running_std.lerp_((unbiased_var * ((count - 1) / count)).sqrt(), self.momentum)

    def estimates(self) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation for evaluation."""
        if not self.bias_correction:
            return self.running_mean, self.running_std
        # The weights of the batches seen so far add up to 1 - (1 - momentum)^batches; 0 before the first.
        seen = (1 - (1 - self.momentum) ** self.num_batches_tracked.to(self.running_std.dtype)).clamp(min=self.momentum)
        return self.running_mean / seen, self.running_std / seen


@dataclass(frozen=True, kw_only=True)
class BatchNorm(Norm):
    """Mean and variance of each channel over the batch and all positions.

    y = weight (x - mean) / sqrt(var + eps) + bias, with weight = gamma and bias = beta of the paper.
    Training uses the batch's mean and its variance `var`, and moves running estimates towards the batch's mean
    and unbiased variance; evaluation uses the running estimates, a fixed affine map per channel.

    Args:
        momentum: weight of the new batch in the running estimates (1 - momentum of the old ones).
        var: of the batch in training: `biased` divides by n, the values of a channel, as the paper does, `unbiased` by
            n - 1 as Ba, Kiros & Hinton 2016 in batches of 4 (arXiv:1607.06450, section 6.6). Evaluation is the same.
        running: `torch` averages unbiased variances from a start of 1. `source` follows the lecture notes that
            this project began with: it averages biased standard deviations, and both estimates start at 0, so
            that the first evaluations divide by far too small a number. Training is the same.
        bias_correction: of `running=source`: divide both estimates by 1 - (1 - momentum)^batches.
        estimates: `running` as said. `population` makes them anew before every evaluation, as the paper does after
            training: averages over batches of 500 of 5,000 training examples, with the weights as they are.
        placement: `pre` normalizes W x as in the paper, `post` the nonlinearity's output.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2, section 3.2 for convolutions.
    Differs: unless `estimates=population`, the statistics of evaluation are running averages, as in torch. The notes
    of `running=source` have no eps; here it is inside the root in evaluation too.
    """

    eps: float = positive(1e-5)
    momentum: float = share(0.1)
    affine: bool = True
    var: str = one_of("biased", "unbiased")
    running: str = one_of("torch", "source")
    bias_correction: bool = False
    estimates: str = one_of(*ESTIMATES)
    cancels_bias = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bias_correction and self.running == "torch":
            raise ValueError("bias_correction needs running=source: torch's estimates do not start at 0")
        if self.estimates == "population" and self.running == "source":
            raise ValueError("estimates=population needs running=torch: nothing is left of running averages")
        if self.var == "unbiased" and self.running == "source":
            raise ValueError("var=unbiased needs running=torch: running=source is of biased deviations")

    def normalization(self, num_features: int) -> nn.Module:
        if self.running == "source":
            return DeviationBatchNorm(num_features, self.eps, self.momentum, self.affine, self.bias_correction)
        module = AnyRankBatchNorm(num_features, self.eps, self.momentum, self.affine)
        module.unbiased = self.var == "unbiased"
        return module

    def before_evaluation(self, model: nn.Module, inputs: Callable[[int], Tensor]) -> None:
        if self.estimates == "population":
            estimate(model, AnyRankBatchNorm, inputs)
