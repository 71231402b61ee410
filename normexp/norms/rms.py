"""Root mean square layer normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.by_sample import of_one_size, pays
from normexp.norms.kernels.moments import mean_square, scaled, wide_vectors
from normexp.norms.options import positive


class RootMeanSquare(PerChannel):
    """Divide each sample by the root of the mean of its squares; then scale each channel by `weight`."""

    gains_from_compile = True

    def __init__(self, num_features: int, eps: float, affine: bool) -> None:
        super().__init__(num_features)
        self.eps = eps
        self.learn(weight=affine, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        if pays(x):
            return of_one_size(x, self.weight, self.eps)
        wide = wide_vectors(x)
        scale = (mean_square(wide).mean(1, keepdim=True) + self.eps).rsqrt()
        scale = scale.expand(-1, x.shape[1]) if self.weight is None else scale * self.weight
        return scaled(wide, scale).to(x.dtype)


@dataclass(frozen=True, kw_only=True)
class RMSNorm(Norm):
    """The root mean square over all features of one sample; no mean is subtracted.

    y = weight x / sqrt(mean(x^2) + eps), with weight = the paper's gain g.
    Training and evaluation use the same formula; no sample depends on another.
    On (N, C) this is torch's RMSNorm(C). On maps the mean runs over C and all positions, as layer normalization
    does here, while weight is one per channel; a mean over C at every position is another scheme.

    Args:
        eps: added to the mean of squares inside the root.
        affine: learn `weight` (starts at 1).
        placement: `pre` normalizes the summed inputs as in the paper, `post` the nonlinearity's output.

    Shape: (N, C, *) -> (N, C, *).

    Source: Zhang & Sennrich 2019, arXiv:1910.07467.
    Differs: eps (1e-5 as here everywhere; the authors' code has other values); no bias, which the layer has.
    """

    eps: float = positive(1e-5)
    affine: bool = True
    rowwise: ClassVar[bool] = True

    def normalization(self, num_features: int) -> nn.Module:
        return RootMeanSquare(num_features, self.eps, self.affine)
