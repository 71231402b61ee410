"""SSNorm: root mean square normalization with one gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.by_sample import of_one_size, pays
from normexp.norms.kernels.moments import mean_square, scaled, wide_vectors
from normexp.norms.options import positive


class SingleScale(nn.Module):
    """Divide each sample by the root of the mean of its squares, then multiply all of it by one learned `gain`."""

    def __init__(self, num_features: int, eps: float) -> None:
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.gain = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: Tensor) -> Tensor:
        if pays(x):
            return of_one_size(x, self.gain.expand(x.shape[1]), self.eps)
        wide = wide_vectors(x)
        scale = self.gain * (mean_square(wide).mean(1, keepdim=True) + self.eps).rsqrt()
        return scaled(wide, scale.expand(-1, x.shape[1])).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}"


@dataclass(frozen=True, kw_only=True)
class SSNorm(Norm):
    """The root mean square over all features of one sample, with one learned number for the whole layer.

    y = gain x / sqrt(mean(x^2) + eps), gain from 1: no channel can be made to stick out by a gain of its own.
    Training and evaluation use the same formula; no sample depends on another.
    On maps the mean runs over C and all positions, as in `norm=rms`.

    Args:
        eps: added to the mean of squares inside the root.
        placement: `pre` normalizes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Source: Park et al. 2025, "Outlier-safe pre-training for robust 4-bit quantization of large language models",
    arXiv:2506.19697.
    Differs: where the paper's gain starts was not compared.
    """

    eps: float = positive(1e-5)
    rowwise: ClassVar[bool] = True

    def normalization(self, num_features: int) -> nn.Module:
        return SingleScale(num_features, self.eps)
