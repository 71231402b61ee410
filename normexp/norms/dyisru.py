"""Dynamic inverse square root unit: no statistics at all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import scaled_and_shifted
from normexp.norms.kernels.moments import channel_sum, over_positions
from normexp.norms.kernels.squashing import Squashing
from normexp.norms.options import positive


def squash(x: Tensor, alpha: Tensor, *affine: Tensor) -> Tensor:
    """Return x / sqrt(alpha + x^2), then scaled and shifted."""
    # Not in place: torch.func's ensembles have an alpha each, and may have one x.
    return scaled_and_shifted(x * (x.square() + alpha).rsqrt(), affine)


def squash_gradient(grad: Tensor, x: Tensor, alpha: Tensor, *affine: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs in their order, each of the shape of its input."""
    scale = x.square().add_(alpha).rsqrt_()
    through, total = grad * scale, channel_sum(grad)
    room = through * x
    rest = [channel_sum(room), total] if affine else []
    weight = affine[0] if affine else torch.ones_like(total)
    slope = through.mul_(scale.square_())  # of y: alpha / (alpha + x^2)^(3/2)
    grad_alpha = (channel_sum(torch.mul(slope, x, out=room)) * weight).sum() * -0.5
    return slope.mul_(over_positions(alpha * weight, x)), grad_alpha, *rest


class InverseSquareRoot(Squashing):
    """x / sqrt(alpha + x^2), with one alpha for the layer; then scale and shift each channel."""

    squash = staticmethod(squash)
    squash_gradient = staticmethod(squash_gradient)


@dataclass(frozen=True, kw_only=True)
class DyISRU(Norm):
    """An inverse square root unit in place of normalization.

    y = weight x / sqrt(alpha + x^2) + bias, with weight and bias per channel and one learned number alpha per layer:
    what RMS normalization does to one value of a sample, the mean of the squares of the others held still. Nothing is
    measured: training equals evaluation, no sample depends on another.

    Args:
        alpha: its start; it may not fall below -x^2, where the root ends and the run with it.
        affine: learn `weight` (starts at 1) and `bias` (starts at 0).
        placement: `pre` squashes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Source: Stollenwerk 2025, "On the mathematical relationship between layer normalization and dynamic activation
    functions", arXiv:2503.21708, whose sqrt(C) the weight can become.
    Differs: alpha starts at 1; the paper's start is not known to us.
    """

    alpha: float = positive(1.0)
    affine: bool = True

    def normalization(self, num_features: int) -> nn.Module:
        return InverseSquareRoot(num_features, self.affine, alpha=self.alpha)
