"""EvoNorm-B0: normalization and nonlinearity in one, with batch statistics."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.batched import check_batch
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import channel_sum, moments, multiply_add, over_positions, pooled, position_sum
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.options import one_of, positive, share


class MaximumOfDeviations(PerChannel):
    """x divided by the larger of the batch's standard deviation and v x + the sample's own."""

    gains_from_compile = True

    running_var: Tensor

    def __init__(self, num_features: int, eps: float, momentum: float) -> None:
        super().__init__(num_features)
        self.eps, self.momentum = eps, momentum
        self.v = nn.Parameter(torch.ones(num_features))
        self.learn(weight=True, bias=True)
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        if num_positions(x) == 1:
            raise ValueError(f"EvoNorm-B0 needs more than one value per map, input has shape {tuple(x.shape)}")
        mean, var = moments(x)
        batch = self.batch_variance(x, mean, var) if self.training else self.running_var
        deviations = ((batch + self.eps).sqrt(), (var + self.eps).sqrt())
        return recomputed(divide, divide_gradient, x, self.v, *deviations, *self.affine)

    def batch_variance(self, x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        """Return the biased variance of the batch per channel, and move the running one by it."""
        check_batch(x, "EvoNorm-B0")
        _, batch = pooled(mean, var, 0)
        count = x.numel() // x.shape[1]
        with torch.no_grad():
            self.running_var.lerp_((batch * (count / (count - 1))).to(self.running_var.dtype), self.momentum)
        return batch


def divide(x: Tensor, v: Tensor, batch: Tensor, instance: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return weight x / max(batch, v x + instance) + bias."""
    # max(a, b) = a + relu(b - a), whose backward is several times faster.
    divisor = over_positions(batch, x) + multiply_add(x, v, instance - batch).relu()
    return multiply_add(x / divisor, weight, bias)


def divide_gradient(
    grad: Tensor, x: Tensor, v: Tensor, batch: Tensor, instance: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor, ...]:
    # As in EvoNorm-S0 the cost is that of operators in the cache; the variances take two more passes over memory.
    above = multiply_add(x, v, instance - batch)
    divisor = above.relu().add_(over_positions(batch, x))
    quotient, grad_x = x / divisor, (grad * over_positions(weight, x)).div_(divisor)
    grad_weight = channel_sum(grad * quotient)
    grad_divisor = quotient.mul_(grad_x).neg_()
    passed = torch.ops.aten.threshold_backward(grad_divisor, above, 0)  # to v x + instance; the rest to batch
    grad_instance = position_sum(passed)
    grad_batch = channel_sum(grad_divisor) - grad_instance.sum(0)
    grad_v = channel_sum(passed * x)
    grad_x.add_(passed.mul_(over_positions(v, x)))
    return grad_x, grad_v, grad_batch, grad_instance, grad_weight, channel_sum(grad)


@dataclass(frozen=True, kw_only=True)
class EvoNormB0(Norm):
    """A layer found by search: the larger of two deviations divides, which also bends the function.

    y = weight x / max(sqrt(var_batch + eps), v x + sqrt(var_map + eps)) + bias, with weight = gamma, bias = beta,
    v = v1, all per channel; var_batch over the batch and all positions, var_map over the positions of one
    sample, both biased.
    It replaces the network's own nonlinearity. An output layer, which has none, is left as it is.
    Training uses the batch's variance and moves a running estimate towards the unbiased one; evaluation uses
    the running estimate, and the sample's own variance as in training.

    Args:
        eps: added to the variances inside the roots.
        momentum: weight of the new batch in the running estimate.
        placement: only `pre`.

    Shape: (N, C, *) -> (N, C, *), with more than one position.

    Raises:
        ValueError: if a channel has a single position: (N, C) after a Linear layer, or N x C x 1 x 1.

    Source: Liu, Brock, Simonyan & Le 2020, arXiv:2004.02967, table 1 [from later implementations, not from
    the authors' code].
    Differs: nothing known.
    """

    eps: float = positive(1e-5)
    momentum: float = share(0.1)
    placement: str = one_of("pre", why="EvoNorm replaces the nonlinearity")

    def normalization(self, num_features: int) -> nn.Module:
        return MaximumOfDeviations(num_features, self.eps, self.momentum)

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        return nn.Identity()

    def linear_normalization(self, num_features: int) -> nn.Module:
        return nn.Identity()
