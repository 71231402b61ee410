"""Dynamic tanh: no statistics at all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.moments import channel_sum, multiply_add, over_positions
from normexp.norms.kernels.recompute import recomputed


class Tanh(nn.Module):
    """tanh of alpha x, with one alpha for the layer; then scale and shift each channel."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(self, num_features: int, alpha: float, affine: bool) -> None:
        super().__init__()
        self.num_features = num_features
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.register_parameter("weight", nn.Parameter(torch.ones(num_features)) if affine else None)
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_features)) if affine else None)

    def forward(self, x: Tensor) -> Tensor:
        if self.weight is None or self.bias is None:
            return recomputed(squash, squash_gradient, x, self.alpha)
        return recomputed(squash, squash_gradient, x, self.alpha, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.num_features}, affine={self.weight is not None}"


def squash(x: Tensor, alpha: Tensor, *affine: Tensor) -> Tensor:
    """Return tanh(alpha x), then scaled and shifted."""
    y = (x * alpha).tanh()
    return multiply_add(y, *affine) if affine else y


def squash_gradient(grad: Tensor, x: Tensor, alpha: Tensor, *affine: Tensor) -> tuple[Tensor, ...]:
    y, rest = (x * alpha).tanh_(), []
    if affine:
        rest = [channel_sum(grad * y), channel_sum(grad)]
        grad = grad * over_positions(affine[0], x)
    inner = torch.ops.aten.tanh_backward(grad, y)
    return inner * alpha, (inner * x).sum(), *rest


@dataclass(frozen=True, kw_only=True)
class DynamicTanh(Norm):
    """A squashing function in place of normalization.

    y = weight tanh(alpha x) + bias, with weight = gamma and bias = beta per channel and one learned number alpha
    per layer. Nothing is measured: training equals evaluation, no sample depends on another.

    Args:
        alpha: its start.
        affine: learn `weight` (starts at 1) and `bias` (starts at 0).
        placement: `pre` squashes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Source: Zhu, Chen, He, LeCun & Liu 2025, arXiv:2503.10622, equation 1 [number from memory].
    Differs: nothing known. The paper puts it where transformers have layer normalization.
    """

    alpha: float = 0.5
    affine: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alpha > 0:
            raise ValueError(f"alpha must be above 0, not {self.alpha}")

    def normalization(self, num_features: int) -> nn.Module:
        return Tanh(num_features, self.alpha, self.affine)
