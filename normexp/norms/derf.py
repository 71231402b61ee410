"""Dynamic erf: no statistics at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import scaled_and_shifted
from normexp.norms.kernels.moments import channel_sum, over_positions
from normexp.norms.kernels.squashing import Squashing
from normexp.norms.options import positive


def squash(x: Tensor, alpha: Tensor, shift: Tensor, *affine: Tensor) -> Tensor:
    """Return erf(alpha x + shift), then scaled and shifted."""
    return scaled_and_shifted((x * alpha).add_(shift).erf_(), affine)


def squash_gradient(grad: Tensor, x: Tensor, alpha: Tensor, shift: Tensor, *affine: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs in their order, each of the shape of its input."""
    # The slope of GELU at u is P(u) + u p(u), with P and p the normal distribution, and erf(z) = 2 P(sqrt(2) z) - 1:
    # so the sums of grad erf(z) follow from those of the slopes. Both calls cost less than erf and exp in torch.
    aten, z = torch.ops.aten, (x * alpha).add_(shift)
    gelu = aten.gelu_backward(grad, z * math.sqrt(2)) if affine else None
    slope = aten.elu_backward(grad, 2 / math.sqrt(math.pi), 1, 1, False, z.square_().neg_())  # grad times exp(-z^2)
    along, plain, total = channel_sum(torch.mul(slope, x, out=z)), channel_sum(slope), channel_sum(grad)
    rest = [] if gelu is None else [2 * channel_sum(gelu) - alpha * along - shift * plain - total, total]
    weight = affine[0] if affine else torch.ones_like(total)
    grad_x = slope.mul_(over_positions(alpha * weight, x))
    return grad_x, (along * weight).sum(), (plain * weight).sum(), *rest


class Erf(Squashing):
    """erf of alpha x + shift, with one alpha and one shift for the layer; then scale and shift each channel."""

    squash = staticmethod(squash)
    squash_gradient = staticmethod(squash_gradient)


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
        return Erf(num_features, self.affine, alpha=self.alpha, shift=self.shift)
