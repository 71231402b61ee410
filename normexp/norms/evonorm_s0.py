"""EvoNorm-S0: normalization and nonlinearity in one, per sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.grouped import check_groups, largest_divisor
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.loops import Loops, Small, shifted_moments
from normexp.norms.kernels.moments import channel_sum, moments, multiply_add, over_positions, pooled, position_sum
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.options import at_least, one_of, positive


def gated(x: Tensor, v: Tensor, scale: Tensor, bias: Tensor, *_: Tensor) -> Tensor:
    """Return scale x sigmoid(v x) + bias, rounded once to x's type."""
    wide, by_channel = at_least_float32(x), over_positions(v, x)
    gate = wide * (wide * by_channel).sigmoid()
    return (gate * over_positions(scale, x) + over_positions(bias, x)).to(x.dtype)


def gated_sums(grad: Tensor, x: Tensor, v: Tensor, *_: Tensor) -> Small:
    """Return what the gradients of weight, v and bias are made of."""
    grad, wide = at_least_float32(grad), at_least_float32(x)
    gate = (wide * over_positions(v, x)).sigmoid()
    through = grad * wide * gate
    return position_sum(through), position_sum(through * (1 - gate) * wide), position_sum(grad)


def gated_gradient(grad: Tensor, x: Tensor, v: Tensor, scale: Tensor, slope: Tensor, mean: Tensor) -> Tensor:
    """Return the gradient of x, of which slope (x - mean) goes by way of the deviation."""
    wide, by_channel = at_least_float32(x), over_positions(v, x)
    gate = (wide * by_channel).sigmoid()
    direct = at_least_float32(grad) * over_positions(scale, x) * (gate * (1 + wide * by_channel * (1 - gate)))
    return (direct + over_positions(slope, x) * (wide - over_positions(mean, x))).to(x.dtype)


class GatedGroup(PerChannel):
    """x sigmoid(v x), divided by the standard deviation of x in groups of channels of one sample."""

    gains_from_compile = True
    loops = Loops(shifted_moments, gated, gated_sums, gated_gradient)

    def __init__(self, num_features: int, num_groups: int, eps: float) -> None:
        super().__init__(num_features)
        self.num_groups, self.eps = num_groups, eps
        self.v = nn.Parameter(torch.ones(num_features))
        self.learn(weight=True, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        self.check(x)
        function = partial(gate, num_groups=self.num_groups, eps=self.eps)
        gradient = partial(gate_gradient, num_groups=self.num_groups, eps=self.eps)
        return recomputed(function, gradient, x, self.v, *self.affine)

    def check(self, x: Tensor) -> None:
        check_groups(x, self.num_groups)

    def factors(self, x: Tensor, moments: Small, v: Tensor, weight: Tensor, bias: Tensor) -> Small:
        mean, rstd = of_groups(moments, self.num_groups, self.eps)
        return v, rstd * weight, bias, weight, mean, rstd

    def slopes(
        self, x: Tensor, sums: Small, v: Tensor, scale: Tensor, bias: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
    ) -> tuple[Small, Small]:
        slope, bent, total = sums
        through = way_of_deviation(slope * weight, rstd, x, self.num_groups)
        return (v, scale, through, mean), ((bent * scale).sum(0), (slope * rstd).sum(0), total.sum(0))


def gate(x: Tensor, v: Tensor, weight: Tensor, bias: Tensor, num_groups: int, eps: float) -> Tensor:
    """Return weight x sigmoid(v x) / std + bias."""
    _, rstd = group_statistics(x, num_groups, eps)
    return multiply_add(x * (x * over_positions(v, x)).sigmoid(), rstd * weight, bias)


def gate_gradient(
    grad: Tensor, x: Tensor, v: Tensor, weight: Tensor, bias: Tensor, num_groups: int, eps: float
) -> tuple[Tensor, ...]:
    """Return the gradients of the four tensors in their order, each of the shape of its input."""
    # In operators of one pass each, over values in the cache: these, not memory, are what the layer costs.
    mean, rstd = group_statistics(x, num_groups, eps)
    scale, by_channel = rstd * weight, over_positions(v, x)
    gate, product = (x * by_channel).sigmoid_(), grad * x
    slope = position_sum(product * gate)
    bent = torch.ops.aten.sigmoid_backward(product, gate)
    grad_v = (position_sum(bent * x) * scale).sum(0)
    through = way_of_deviation(slope * weight, rstd, x, num_groups)
    grad_x = gate.mul_(grad).add_(bent.mul_(by_channel)).mul_(over_positions(scale, x))
    grad_x.add_(multiply_add(x, through, -through * mean))
    return grad_x, grad_v, (slope * rstd).sum(0), channel_sum(grad)


def group_statistics(x: Tensor, num_groups: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return mean and 1 / sqrt(var + eps) of each channel's group: (N, C)."""
    return of_groups(moments(x), num_groups, eps)


def of_groups(statistics: Small, num_groups: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return mean and 1 / sqrt(var + eps) of each channel's group: (N, C), from mean and variance of the channels."""
    mean, var = (values.unflatten(1, (num_groups, -1)) for values in statistics)
    size, (mean, var) = mean.shape[2], pooled(mean, var, 2)
    return mean.repeat_interleave(size, 1), (var + eps).rsqrt().repeat_interleave(size, 1)


def way_of_deviation(slope: Tensor, rstd: Tensor, x: Tensor, num_groups: int) -> Tensor:
    """Return the gradient of x by way of its group's deviation, as a multiple of x - mean: (N, C)."""
    size = x.shape[1] // num_groups
    through = slope.unflatten(1, (num_groups, size)).sum(2).repeat_interleave(size, 1) * rstd**3
    return through * (-num_groups / (x.shape[1] * num_positions(x)))


@dataclass(frozen=True, kw_only=True)
class EvoNormS0(Norm):
    """A layer found by search: a gate in place of the nonlinearity, divided by a group's standard deviation.

    y = weight x sigmoid(v x) / sqrt(var + eps) + bias, with weight = gamma, bias = beta, v = v1, all per channel;
    biased variance over a group of neighbouring channels of one sample and all positions.
    It replaces the network's own nonlinearity. An output layer, which has none, is left as it is.
    Training and evaluation use the same formula; no sample depends on another.

    Args:
        num_groups: number of groups G. Where it does not divide a layer's C channels, that layer takes the
            largest divisor of C that is not above it.
        placement: only `pre`.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: if a group holds a single value (as many groups as channels, and one position).

    Source: Liu, Brock, Simonyan & Le 2020, arXiv:2004.02967 [from later implementations, not from
    the authors' code].
    Differs: biased variance, where those implementations vary; the rule for channels that num_groups does not
    divide.
    """

    num_groups: int = at_least(1, 32)
    eps: float = positive(1e-5)
    placement: str = one_of("pre", why="EvoNorm replaces the nonlinearity")

    def normalization(self, num_features: int) -> nn.Module:
        return GatedGroup(num_features, largest_divisor(num_features, self.num_groups), self.eps)

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        return nn.Identity()

    def linear_normalization(self, num_features: int) -> nn.Module:
        return nn.Identity()
