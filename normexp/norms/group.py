"""Group normalization."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.norms.base import Norm
from normexp.norms.kernels.grouped import GroupedNorm, largest_divisor
from normexp.norms.options import at_least, positive


@dataclass(frozen=True, kw_only=True)
class GroupNorm(Norm):
    """Mean and variance over groups of neighbouring channels of one sample.

    y = weight (x - mean) / sqrt(var + eps) + bias, with weight = gamma and bias = beta of the paper, one per
    channel; biased variance over C / num_groups channels and all positions.
    Training and evaluation use the same formula; no sample depends on another.

    Args:
        num_groups: number of groups G. Where it does not divide a layer's C channels, that layer takes the
            largest divisor of C that is not above it: 32 gives 32 groups of 96 channels and 10 groups of 10.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: if a group holds a single value (as many groups as channels, and one position).

    Source: Wu & He 2018, arXiv:1803.08494, equations 1 to 7.
    Differs: the rule for channels that num_groups does not divide; the paper has no such layer.
    """

    num_groups: int = at_least(1, 32)
    eps: float = positive(1e-5)
    affine: bool = True

    def normalization(self, num_features: int) -> nn.Module:
        groups = largest_divisor(num_features, self.num_groups)
        return GroupedNorm(groups, num_features, self.eps, self.affine)
