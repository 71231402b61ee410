"""Recurrent batch normalization."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.norms.base import STATES, Norm, Site, Step, TimeStep
from normexp.norms.kernels.batched import AlwaysBatchNorm, AnyRankBatchNorm, check_batch
from normexp.norms.networks.population import EXAMPLES, estimate
from normexp.norms.options import one_of, positive, share

ROUNDING = 1e-6  # a standard deviation this far below the size of the values is their rounding error


class Estimates(nn.Module):
    """Mean and variance of every time step, for evaluation."""

    mean: Tensor
    var: Tensor
    varies: Tensor  # 1, or 0 for a feature that does not vary at a time step
    longest: Tensor  # number of time steps that have estimates

    def __init__(self, max_steps: int, num_features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(max_steps, num_features))
        self.register_buffer("var", torch.ones(max_steps, num_features))
        self.register_buffer("varies", torch.ones(max_steps, num_features))
        self.register_buffer("longest", torch.zeros((), dtype=torch.long))

    def at(self, t: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return mean, variance and `varies` of step t, or of the last one that has any."""
        step = min(t, max(int(self.longest), 1) - 1)
        # Clones: in training the estimates move again before backward needs these.
        return self.mean[step].clone(), self.var[step].clone(), self.varies[step].clone()

    @torch.no_grad()
    def take(self, x: Tensor, step: int) -> None:
        """Set the estimates of a time step to mean and unbiased variance of x: (N, C), N above 1.

        A feature that does not vary is marked to give `bias` in evaluation, as it does in training. Else its rounding
        error, divided by the root of eps at every time step anew, would soon be all that is seen. For the same reason
        the sums are in float64.
        """
        self.longest.clamp_(min=step + 1)
        var, mean = torch.var_mean(x.double(), 0)
        self.mean[step], self.var[step] = mean, var
        self.varies[step] = var > ROUNDING**2 * mean.square().mean()


class StepBatchNorm(Step):
    """Batch normalization of x: (N, C) with estimates for every time step, one weight and bias for all."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, num_features: int, max_steps: int, scheme: RecurrentBatchNorm, bias: bool) -> None:
        super().__init__()
        self.num_features, self.max_steps, self.eps = num_features, max_steps, scheme.eps
        self.momentum: float | None = scheme.momentum  # None: take the batch at hand for the population
        self.by_batch = scheme.estimates == "batch"
        self.weight = nn.Parameter(torch.full((num_features,), scheme.gain))
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_features)) if bias else None)
        self.running, self.population = (Estimates(max_steps, num_features) for _ in range(2))

    def forward(self, x: Tensor, t: int) -> Tensor:
        if not self.training:
            return self._in_evaluation(x, t)
        if t == 0:
            check_batch(x, "recurrent batch normalization")
        if self.momentum is None:
            return self._as_population(x, t)
        if len(x) == 1:
            return self._by(self.running, x, t)
        step = min(t, self.max_steps - 1)
        self.running.longest.clamp_(min=step + 1)
        state = (self.running.mean[step], self.running.var[step])
        return F.batch_norm(x, *state, self.weight, self.bias, True, self.momentum, self.eps)

    def _in_evaluation(self, x: Tensor, t: int) -> Tensor:
        if self.by_batch and len(x) > 1:
            return F.batch_norm(x, None, None, self.weight, self.bias, True, 0.0, self.eps)
        taken = not x.is_meta and int(self.population.longest) > 0
        return self._by(self.population if taken else self.running, x, t)

    def _as_population(self, x: Tensor, t: int) -> Tensor:
        """Take the estimates from x and use them, so that later steps see what they will see in evaluation."""
        if len(x) > 1:
            self.population.take(x, min(t, self.max_steps - 1))
        return self._by(self.population, x, t)

    def _by(self, estimates: Estimates, x: Tensor, t: int) -> Tensor:
        mean, var, varies = (x.new_ones(3, self.num_features)) if x.is_meta else estimates.at(t)
        return F.batch_norm(x, mean, var, self.weight * varies, self.bias, False, 0.0, self.eps)

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
        gain: start of the recurrent `weight`; 0.1 keeps the derivative of tanh near 1. In `normalization` it is 1.
        bias: learn the recurrent `bias` (starts at 0), but never at a `term`, whose sum has a bias of its own.
        estimates: `population` makes them anew before every evaluation: the statistics of 5,000 training examples,
            with the weights as they are. Over many time steps, small errors of running averages (`running`) add up.
            Features that did not vary over these examples (pixels of the border) give `bias` then, as in training.
            `batch` evaluates with the statistics of the batch at hand, so that an answer depends on the other
            examples; but for a single one, whose statistics are the running averages.
        placement: of `normalization`: `pre` normalizes what enters the nonlinearity, `post` what leaves it.

    Shape: recurrent: (N, C), step t -> (N, C); activation: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel, at time step 0; for less than one step.

    Source: Cooijmans et al. 2017, arXiv:1603.09025, section 3, section 4 for the gain.
    Differs: one batch of 5,000 examples is looked at, by the authors' code several; the variance is unbiased as in
    torch, there biased.
    """

    gain: float = positive(0.1)
    bias: bool = True
    eps: float = positive(1e-5)
    momentum: float = share(0.1)
    estimates: str = one_of("population", "running", "batch")
    cancels_bias = True

    def normalization(self, num_features: int) -> nn.Module:
        kind = AlwaysBatchNorm if self.estimates == "batch" else AnyRankBatchNorm
        return kind(num_features, self.eps, self.momentum)

    def recurrent(self, num_features: int, max_steps: int, site: Site = "sum") -> Step:
        if max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, not {max_steps}")
        if site in STATES:
            return TimeStep(nn.Identity())
        bias = self.bias and site != "term"
        return StepBatchNorm(num_features, max_steps, self, bias)

    def before_evaluation(self, model: nn.Module, inputs: Callable[[int], Tensor]) -> None:
        if self.estimates == "population":
            # In one batch: what varies rarely varies in some smaller ones only, and later steps build upon that.
            estimate(model, (StepBatchNorm, AnyRankBatchNorm), inputs, batch=EXAMPLES)
