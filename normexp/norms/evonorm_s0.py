"""EvoNorm-S0: normalization and nonlinearity in one, per sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.grouped import largest_divisor
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import channel_sum, moments, multiply_add, over_positions, pooled, position_sum
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.options import at_least, one_of, positive


class GatedGroup(PerChannel):
    """x sigmoid(v x), divided by the standard deviation of x in groups of channels of one sample."""

    gains_from_compile = True

    def __init__(self, num_features: int, num_groups: int, eps: float) -> None:
        super().__init__(num_features)
        self.num_groups, self.eps = num_groups, eps
        self.v = nn.Parameter(torch.ones(num_features))
        self.learn(weight=True, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] * num_positions(x) == self.num_groups:
            raise ValueError(
                f"normalization over {self.num_groups} groups needs more than one value per group, "
                f"input has shape {tuple(x.shape)}"
            )
        function = partial(gate, num_groups=self.num_groups, eps=self.eps)
        gradient = partial(gate_gradient, num_groups=self.num_groups, eps=self.eps)
        return recomputed(function, gradient, x, self.v, *self.affine)


def gate(x: Tensor, v: Tensor, weight: Tensor, bias: Tensor, num_groups: int, eps: float) -> Tensor:
    """Return weight x sigmoid(v x) / std + bias."""
    _, rstd = group_statistics(x, num_groups, eps)
    return multiply_add(x * (x * over_positions(v, x)).sigmoid(), rstd * weight, bias)


def gate_gradient(
    grad: Tensor, x: Tensor, v: Tensor, weight: Tensor, bias: Tensor, num_groups: int, eps: float
) -> tuple[Tensor, ...]:
    # In operators of one pass each, over values in the cache: these, not memory, are what the layer costs.
    mean, rstd = group_statistics(x, num_groups, eps)
    scale, by_channel = rstd * weight, over_positions(v, x)
    gate, product = (x * by_channel).sigmoid_(), grad * x
    slope = position_sum(product * gate)
    bent = torch.ops.aten.sigmoid_backward(product, gate)
    grad_v = (position_sum(bent * x) * scale).sum(0)
    through = over_groups((slope * weight).unflatten(1, (num_groups, -1)).sum(2), x) * rstd**3
    through = through * (-num_groups / (x.shape[1] * num_positions(x)))
    grad_x = gate.mul_(grad).add_(bent.mul_(by_channel)).mul_(over_positions(scale, x))
    grad_x.add_(multiply_add(x, through, -through * mean))
    return grad_x, grad_v, (slope * rstd).sum(0), channel_sum(grad)


def group_statistics(x: Tensor, num_groups: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return mean and 1 / sqrt(var + eps) of each channel's group: (N, C)."""
    mean, var = (values.unflatten(1, (num_groups, -1)) for values in moments(x))
    mean, var = pooled(mean, var, 2)
    return over_groups(mean, x), over_groups((var + eps).rsqrt(), x)


def over_groups(values: Tensor, x: Tensor) -> Tensor:
    """Return values: (N, G) for each of the channels of x: (N, C)."""
    return values.repeat_interleave(x.shape[1] // values.shape[1], 1)


@dataclass(frozen=True, kw_only=True)
class EvoNormS0(Norm):
    """A layer found by search: a gate in place of the nonlinearity, divided by a group's standard deviation.

    y = weight x sigmoid(v x) / sqrt(var + eps) + bias, with weight = gamma, bias = beta, v = v1, all per channel;
    biased variance over a group of neighbouring channels of one sample and all positions.
    It replaces the network's own nonlinearity. An output layer, which has none, is left as it is.
    Training and evaluation use the same formula; no sample depends on another.

    Args:
        num_groups: number of groups G. Where it does not divide a layer's C channels, that layer takes the
            largest divisor of C below.
        placement: only `pre`.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: if a group holds a single value (as many groups as channels, and one position).

    Source: Liu, Brock, Simonyan & Le 2020, arXiv:2004.02967, table 1 [from later implementations, not from
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
