"""Instance normalization."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.norms.base import Norm
from normexp.norms.kernels.grouped import GroupedNorm
from normexp.norms.options import positive


@dataclass(frozen=True, kw_only=True)
class InstanceNorm(Norm):
    """Mean and variance of each channel of each sample over its positions.

    y = weight (x - mean) / sqrt(var + eps) + bias; biased variance.
    Training and evaluation use the same formula; no sample depends on another.

    Shape: (N, C, *) -> (N, C, *), with more than one position.

    Raises:
        ValueError: if a channel has a single position: (N, C) after a Linear layer, or N x C x 1 x 1.

    Source: Ulyanov, Vedaldi & Lempitsky 2016, arXiv:1607.08022.
    Differs: weight starts at 1, in the authors' code uniformly in (0, 1).
    """

    eps: float = positive(1e-5)
    affine: bool = True
    cancels_bias = True

    def normalization(self, num_features: int) -> nn.Module:
        return GroupedNorm(num_features, num_features, self.eps, self.affine)
