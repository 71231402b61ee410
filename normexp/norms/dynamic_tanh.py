"""Dynamic tanh: no statistics at all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import scaled_and_shifted
from normexp.norms.kernels.elementwise import tanh
from normexp.norms.kernels.moments import channel_sum, over_positions
from normexp.norms.kernels.squashing import Squashing
from normexp.norms.options import positive


def squash(x: Tensor, alpha: Tensor, *affine: Tensor) -> Tensor:
    """Return tanh(alpha x), then scaled and shifted."""
    return scaled_and_shifted(tanh(x * alpha), affine)


def squash_gradient(grad: Tensor, x: Tensor, alpha: Tensor, *affine: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs in their order, each of the shape of its input."""
    # With s = sigmoid(2 z) tanh(z) is 2 s - 1 and its slope 4 s (1 - s): as accurate where it is added up, and in torch
    # a fraction of the cost of tanh.
    s = (x * (2 * alpha)).sigmoid_()
    slope = torch.ops.aten.sigmoid_backward(grad, s)
    total = channel_sum(grad)
    rest = [2 * channel_sum(s.mul_(grad)) - total, total] if affine else []
    weight = 4 * (affine[0] if affine else torch.ones_like(total))
    grad_alpha = (channel_sum(torch.mul(slope, x, out=s)) * weight).sum()
    return slope.mul_(over_positions(alpha * weight, x)), grad_alpha, *rest


class Tanh(Squashing):
    """tanh of alpha x, with one alpha for the layer; then scale and shift each channel."""

    squash = staticmethod(squash)
    squash_gradient = staticmethod(squash_gradient)


@dataclass(frozen=True, kw_only=True)
class DynamicTanh(Norm):
    """A squashing function in place of normalization.

    y = weight tanh(alpha x) + bias, with weight = gamma and bias = beta per channel and one learned number alpha
    per layer. Nothing is measured: training equals evaluation, no sample depends on another.

    Args:
        alpha: its start.
        placement: `pre` squashes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Source: Zhu, Chen, He, LeCun & Liu 2025, arXiv:2503.10622, and its authors' code.
    Differs: the authors' large decoders begin with an alpha by width and place, and multiply the embedding by a learned
    number (`model.scaled_embedding` of `gpt`). The paper puts it where transformers have layer normalization.
    """

    alpha: float = positive(0.5)
    affine: bool = True

    def normalization(self, num_features: int) -> nn.Module:
        return Tanh(num_features, self.affine, alpha=self.alpha)
