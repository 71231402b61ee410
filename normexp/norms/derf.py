"""Dynamic erf: no statistics at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import PerChannel, affine_gradients, scaled_and_shifted
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.options import positive


class Erf(PerChannel):
    """erf of alpha x + shift, with one alpha and one shift for the layer; then scale and shift each channel."""

    def __init__(self, num_features: int, alpha: float, shift: float, affine: bool) -> None:
        super().__init__(num_features)
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.shift = nn.Parameter(torch.tensor(shift))
        self.learn(affine, affine)

    def forward(self, x: Tensor) -> Tensor:
        return recomputed(squash, squash_gradient, x, self.alpha, self.shift, *self.affine)


def squash(x: Tensor, alpha: Tensor, shift: Tensor, *affine: Tensor) -> Tensor:
    """Return erf(alpha x + shift), then scaled and shifted."""
    return scaled_and_shifted((x * alpha + shift).erf(), affine)


def squash_gradient(grad: Tensor, x: Tensor, alpha: Tensor, shift: Tensor, *affine: Tensor) -> tuple[Tensor, ...]:
    entering = x * alpha + shift
    grad, rest = affine_gradients(grad, entering.erf(), affine)
    inner = grad * (entering.square().neg_().exp_() * (2 / math.sqrt(math.pi)))
    return inner * alpha, (inner * x).sum(), inner.sum(), *rest


@dataclass(frozen=True, kw_only=True)
class Derf(Norm):
    """The error function in place of normalization.

    y = weight erf(alpha x + shift) + bias, with weight and bias per channel and one learned alpha and one learned
    shift per layer. Nothing is measured: training equals evaluation, no sample depends on another.

    Args:
        alpha, shift: their start.
        affine: learn `weight` (starts at 1) and `bias` (starts at 0).
        placement: `pre` squashes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Source: zlab-princeton/Derf, the authors' code; constants as there.
    Differs: nothing known. The authors put it where transformers have layer normalization.
    """

    alpha: float = positive(0.5)
    shift: float = 0.0
    affine: bool = True

    def normalization(self, num_features: int) -> nn.Module:
        return Erf(num_features, self.alpha, self.shift, self.affine)
