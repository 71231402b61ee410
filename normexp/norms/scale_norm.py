"""ScaleNorm: samples of one length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.by_sample import of_one_size, pays
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import mean_square, scaled, wide_vectors
from normexp.norms.options import positive


class OneLength(nn.Module):
    """Divide each sample by its length, then multiply all of it by one learned `gain`."""

    def __init__(self, num_features: int, eps: float) -> None:
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.gain = nn.Parameter(torch.tensor(math.sqrt(num_features)))

    def forward(self, x: Tensor) -> Tensor:
        if pays(x):
            count = x[:1].numel()
            return of_one_size(x, (self.gain / math.sqrt(count)).expand(x.shape[1]), self.eps / count)
        wide = wide_vectors(x)
        squares = mean_square(wide).sum(1, keepdim=True) * num_positions(x)
        scale = (self.gain * (squares + self.eps).rsqrt()).expand(-1, x.shape[1])
        return scaled(wide, scale).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}"


@dataclass(frozen=True, kw_only=True)
class ScaleNorm(Norm):
    """The length over all features of one sample; one learned number for the whole layer.

    y = gain x / sqrt(||x||^2 + eps), with gain = the paper's g from sqrt(C).
    Training and evaluation use the same formula; no sample depends on another.
    On maps the length is that over C and all positions, and the gain the same: outputs start with a root mean square of
    1 / sqrt(positions), 1 / 32 on maps of 32 x 32.

    Args:
        eps: added to the squared length inside the root.
        placement: `pre` normalizes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Source: Nguyen & Salazar 2019, arXiv:1910.05895.
    Differs: eps is inside the root; there the length is bounded from below by it. Maps are no part of the paper.
    """

    eps: float = positive(1e-5)
    rowwise: ClassVar[bool] = True

    def normalization(self, num_features: int) -> nn.Module:
        return OneLength(num_features, self.eps)
