"""EvoNorm-S0: normalization and nonlinearity in one, per sample."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32, check_eps
from normexp.norms.grouped import largest_divisor
from normexp.norms.moments import moments, over_positions, pooled, scale_shift
from normexp.norms.recompute import recomputed


class GatedGroup(nn.Module):
    """x sigmoid(v x), divided by the standard deviation of x in groups of channels of one sample."""

    def __init__(self, num_features: int, num_groups: int, eps: float) -> None:
        super().__init__()
        self.num_features, self.num_groups, self.eps = num_features, num_groups, eps
        self.v = nn.Parameter(torch.ones(num_features))
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x: Tensor) -> Tensor:
        if x[0].numel() == self.num_groups:
            raise ValueError(
                f"normalization over {self.num_groups} groups needs more than one value per group, "
                f"input has shape {tuple(x.shape)}"
            )
        mean, var = (values.unflatten(1, (self.num_groups, -1)) for values in moments(x))
        _, var = pooled(mean, var, 2)
        rstd = (var + self.eps).rsqrt().repeat_interleave(x.shape[1] // self.num_groups, 1)
        return recomputed(gate, x, self.v, rstd * self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.num_features}, num_groups={self.num_groups}, eps={self.eps}"


def gate(x: Tensor, v: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return x sigmoid(v x) scale + shift in x's type."""
    wide = at_least_float32(x)
    return scale_shift(wide * (wide * over_positions(v, x)).sigmoid(), scale, shift).to(x.dtype)


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
        eps: added to the variance inside the root.
        placement: only `pre`.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: if a group holds a single value (as many groups as channels, and one position).

    Source: Liu, Brock, Simonyan & Le 2020, arXiv:2004.02967, table 1 [from later implementations, not from
    the authors' code].
    Differs: biased variance, where those implementations vary; the rule for channels that num_groups does not
    divide.
    """

    num_groups: int = 32
    eps: float = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_groups < 1:
            raise ValueError(f"num_groups must be at least 1, not {self.num_groups}")
        check_eps(self.eps)
        if self.placement == "post":
            raise ValueError("placement must be 'pre', not 'post': EvoNorm replaces the nonlinearity")

    def activation(self, num_features: int) -> nn.Module:
        return GatedGroup(num_features, largest_divisor(num_features, self.num_groups), self.eps)

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        return nn.Identity()

    def block(self, layer: nn.Module, fn: nn.Module | None = None) -> nn.Module:
        return nn.Sequential(layer) if fn is None else super().block(layer, fn)
