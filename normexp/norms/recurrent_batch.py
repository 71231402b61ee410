"""Recurrent batch normalization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.norms.base import STATES, Norm, Site, Step, TimeStep, check_eps, check_momentum
from normexp.norms.batched import AnyRankBatchNorm, check_batch


class StepBatchNorm(Step):
    """Batch normalization of x: (N, C) with running estimates for every time step, one weight and bias for all."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    running_mean: Tensor
    running_var: Tensor
    longest: Tensor  # number of time steps that have estimates

    def __init__(self, num_features: int, max_steps: int, eps: float, momentum: float, gain: float, bias: bool) -> None:
        super().__init__()
        self.num_features, self.max_steps, self.eps, self.momentum = num_features, max_steps, eps, momentum
        self.weight = nn.Parameter(torch.full((num_features,), gain))
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_features)) if bias else None)
        self.register_buffer("running_mean", torch.zeros(max_steps, num_features))
        self.register_buffer("running_var", torch.ones(max_steps, num_features))
        self.register_buffer("longest", torch.ones((), dtype=torch.long))

    def forward(self, x: Tensor, t: int) -> Tensor:
        if self.training and t == 0:
            check_batch(x, "recurrent batch normalization")
        if not self.training or len(x) == 1:
            return self._by_estimates(x, t)
        step = min(t, self.max_steps - 1)
        self.longest.clamp_(min=step + 1)
        state = (self.running_mean[step], self.running_var[step])
        return F.batch_norm(x, *state, self.weight, self.bias, True, self.momentum, self.eps)

    def _by_estimates(self, x: Tensor, t: int) -> Tensor:
        known = self.max_steps if x.is_meta else int(self.longest)
        step = min(t, known - 1)
        # Clones: in training the estimates move again before backward needs these.
        state = (self.running_mean[step].clone(), self.running_var[step].clone())
        return F.batch_norm(x, *state, self.weight, self.bias, False, self.momentum, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, max_steps={self.max_steps}, eps={self.eps}, momentum={self.momentum}"


@dataclass(frozen=True, kw_only=True)
class RecurrentBatchNorm(Norm):
    """Batch normalization for recurrent networks: statistics per time step.

    y = weight (x - mean_t) / sqrt(var_t + eps) + bias, with weight = gamma and bias = beta shared by all steps.
    Training uses mean and biased variance of the batch at step t, and moves the running estimates of step t
    towards its mean and unbiased variance; evaluation uses those of step t. Beyond the longest sequence of
    training the estimates of its last step serve. Beyond the last step that was planned for, its estimates serve
    too, and in training are moved. Where only one sequence of a training batch is so long, there is no variance:
    that step is normalized as in evaluation.
    Where there are no time steps, in a convolutional network, this is ordinary batch normalization.

    Args:
        gain: start of the recurrent `weight`; 0.1 keeps the derivative of tanh near 1. In `activation` it is 1.
        bias: learn the recurrent `bias` (starts at 0), but never at a `term`, whose sum has a bias of its own.
        eps: added to the variance inside the root.
        momentum: weight of the new batch in the running estimates.
        placement: of `activation`: `pre` normalizes what enters the nonlinearity, `post` what leaves it.

    Shape: recurrent: (N, C), step t -> (N, C); activation: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel, at time step 0; for less than one step.

    Source: Cooijmans et al. 2017, arXiv:1603.09025, equations 6 to 9, section 4 for the gain.
    Differs: the final estimates are running averages, in the paper averages over the training set after
    training; the variance in them is unbiased as in torch, in the authors' code biased.
    """

    gain: float = 0.1
    bias: bool = True
    eps: float = 1e-5
    momentum: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.gain > 0:
            raise ValueError(f"gain must be above 0, not {self.gain}")
        check_eps(self.eps)
        check_momentum(self.momentum)

    @property
    def cancels_bias(self) -> bool:
        return True

    def activation(self, num_features: int) -> nn.Module:
        return AnyRankBatchNorm(num_features, self.eps, self.momentum)

    def recurrent(self, num_features: int, max_steps: int, site: Site = "sum") -> Step:
        if max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, not {max_steps}")
        if site in STATES:
            return TimeStep(nn.Identity())
        bias = self.bias and site != "term"
        return StepBatchNorm(num_features, max_steps, self.eps, self.momentum, self.gain, bias)
