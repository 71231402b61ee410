"""EvoNorm-B0: normalization and nonlinearity in one, with batch statistics."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.batched import check_batch, move, unbiased
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.loops import Loops, Small, shifted_moments
from normexp.norms.kernels.moments import channel_sum, moments, multiply_add, over_positions, pooled, position_sum
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.options import one_of, positive, share


def divided(x: Tensor, v: Tensor, weight: Tensor, bias: Tensor, batch: Tensor, instance: Tensor, *_: Tensor) -> Tensor:
    """Return weight x / max(batch, v x + instance) + bias, rounded once to x's type."""
    wide = at_least_float32(x)
    divisor = torch.maximum(over_positions(batch, x), wide * over_positions(v, x) + over_positions(instance, x))
    return (wide / divisor * over_positions(weight, x) + over_positions(bias, x)).to(x.dtype)


def divisions(
    grad: Tensor, x: Tensor, v: Tensor, weight: Tensor, batch: Tensor, instance: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return x over the divisor, the gradient that it has, and what the divisor passes on to v x + instance."""
    wide = at_least_float32(x)
    of_sample, of_batch = wide * over_positions(v, x) + over_positions(instance, x), over_positions(batch, x)
    each = 1 / torch.maximum(of_batch, of_sample)
    quotient, direct = wide * each, at_least_float32(grad) * over_positions(weight, x) * each
    return quotient, direct, torch.where(of_sample > of_batch, -quotient * direct, 0.0)


def divided_sums(
    grad: Tensor, x: Tensor, v: Tensor, weight: Tensor, bias: Tensor, batch: Tensor, instance: Tensor, *_: Tensor
) -> Small:
    """Return what the gradients of weight and bias, of v, and of the deviations of sample and batch are made of."""
    quotient, direct, passed = divisions(grad, x, v, weight, batch, instance)
    grad, kept = at_least_float32(grad), -quotient * direct - passed
    return tuple(map(position_sum, (grad * quotient, grad, passed * at_least_float32(x), passed, kept)))


def divided_gradient(grad: Tensor, x: Tensor, *factors: Tensor) -> Tensor:
    """Return the gradient of x, of which slope (x - mean) + shift goes by way of the two deviations."""
    v, weight, batch, instance, slope, mean, shift = factors
    _, direct, passed = divisions(grad, x, v, weight, batch, instance)
    grad_x = direct + passed * over_positions(v, x) + over_positions(shift, x)
    return (grad_x + over_positions(slope, x) * (at_least_float32(x) - over_positions(mean, x))).to(x.dtype)


class MaximumOfDeviations(PerChannel):
    """x divided by the larger of the batch's standard deviation and v x + the sample's own."""

    gains_from_compile = True
    loops = Loops(shifted_moments, divided, divided_sums, divided_gradient)

    running_var: Tensor

    def __init__(self, num_features: int, eps: float, momentum: float) -> None:
        super().__init__(num_features)
        self.eps, self.momentum = eps, momentum
        self.v = nn.Parameter(torch.ones(num_features))
        self.learn(weight=True, bias=True)
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        self.check(x)
        mean, var = moments(x)
        batch = self.batch_variance(x, mean, var) if self.training else self.running_var
        return recomputed(divide, divide_gradient, x, self.v, *self.deviations(batch, var), *self.affine)

    def deviations(self, batch: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
        return (batch + self.eps).sqrt(), (var + self.eps).sqrt()

    def check(self, x: Tensor) -> None:
        if num_positions(x) == 1:
            raise ValueError(f"EvoNorm-B0 needs more than one value per map, input has shape {tuple(x.shape)}")

    def factors(self, x: Tensor, moments: Small, v: Tensor, weight: Tensor, bias: Tensor) -> Small:
        mean, var = moments
        return v, weight, bias, *self.deviations(self.batch_variance(x, mean, var), var), mean

    def slopes(self, x: Tensor, sums: Small, *factors: Tensor) -> tuple[Small, Small]:
        (v, weight, _, batch, instance, mean), count = factors, num_positions(x)
        of_weight, of_bias, of_v, of_instance, of_batch = sums
        own, shared = of_instance / instance, of_batch.sum(0) / (len(x) * batch)
        slope, shift = (own + shared) / count, shared * (mean - mean.mean(0)) / count
        return (v, weight, batch, instance, slope, mean, shift), (of_v.sum(0), of_weight.sum(0), of_bias.sum(0))

    def batch_variance(self, x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        """Return the biased variance of the batch per channel, and move the running one by it."""
        check_batch(x, "EvoNorm-B0")
        _, batch = pooled(mean, var, 0)
        with torch.no_grad():
            move([self.running_var], [unbiased(batch, x)], self.momentum)
        return batch


def divide(x: Tensor, v: Tensor, batch: Tensor, instance: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return weight x / max(batch, v x + instance) + bias."""
    # max(a, b) = a + relu(b - a), whose backward is several times faster.
    divisor = over_positions(batch, x) + multiply_add(x, v, instance - batch).relu()
    return multiply_add(x / divisor, weight, bias)


def divide_gradient(
    grad: Tensor, x: Tensor, v: Tensor, batch: Tensor, instance: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs in their order, each of the shape of its input."""
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

    Source: Liu, Brock, Simonyan & Le 2020, arXiv:2004.02967 [from later implementations, not from
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
