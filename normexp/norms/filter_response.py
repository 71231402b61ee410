"""Filter response normalization with its thresholded linear unit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, check_eps
from normexp.norms.moments import mean_square, over_positions, scale_shift


class FilterResponse(nn.Module):
    """Divide each channel of each sample by its root mean square, scale, shift, and cut off below `threshold`."""

    threshold: nn.Parameter | None
    eps_learned: nn.Parameter | None

    def __init__(self, num_features: int, eps: float, learn_eps: bool, threshold: bool) -> None:
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_parameter("threshold", nn.Parameter(torch.zeros(num_features)) if threshold else None)
        self.register_parameter("eps_learned", nn.Parameter(torch.tensor(1e-4)) if learn_eps else None)

    def forward(self, x: Tensor) -> Tensor:
        if self.eps_learned is None and x[0, 0].numel() == 1:
            raise ValueError(
                "filter response normalization with a fixed eps needs more than one value per channel "
                f"(else learn_eps=true), input has shape {tuple(x.shape)}"
            )
        eps = self.weight.new_tensor(self.eps) if self.eps_learned is None else self.eps + self.eps_learned.abs()
        scale = (mean_square(x) + eps).rsqrt() * self.weight
        y = scale_shift(x, scale, self.bias)
        return y if self.threshold is None else Thresholded.apply(y, self.threshold)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, threshold={self.threshold is not None}"


class Thresholded(torch.autograd.Function):
    """z, threshold -> max(z, threshold) per channel. Keeps a byte per value: which of the two it was.

    Not its output, as a ReLU does: residual networks add to that in place.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, threshold: Tensor) -> Tensor:
        limit = over_positions(threshold, z).to(z.dtype)
        ctx.save_for_backward(z > limit, threshold)
        return torch.maximum(z, limit)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        above, threshold = ctx.saved_tensors
        passed = grads[0] * above
        rest = sum_positions(grads[0]) - sum_positions(passed)
        return passed, rest.sum(0).to(threshold.dtype)


def sum_positions(x: Tensor) -> Tensor:
    """Sum x: (N, C, *) to (N, C), in float32 at least."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    return x.sum(list(range(2, x.dim())), dtype=dtype) if x.dim() > 2 else x.to(dtype)


@dataclass(frozen=True, kw_only=True)
class FilterResponseNorm(Norm):
    """The root mean square of each channel of one sample over its positions, then max(., threshold).

    y = max(weight x / sqrt(nu2 + eps) + bias, threshold), nu2 = mean of x^2 over the positions, with
    weight = gamma, bias = beta and threshold = tau. The maximum is the thresholded linear unit: it replaces the
    network's own nonlinearity. An output layer, which has none, is normalized without it.
    Training and evaluation use the same formula; no sample depends on another.

    Args:
        eps: added to the mean of squares inside the root.
        learn_eps: add a learned |eps_learned| (a scalar per layer that starts at 1e-4), for maps of 1 x 1, which
            a small fixed eps would turn into their signs.
        unit: learn `threshold` (one per channel, starts at 0); else the network keeps its own nonlinearity.
        placement: `post` only without the unit, which ends the normalization.

    Shape: (N, C, *) -> (N, C, *), with more than one position unless eps is learned.

    Raises:
        ValueError: if a channel has a single position and eps is fixed.

    Source: Singh & Krishnan 2020, arXiv:1911.09737, equations 1 to 3 and section 3.4 [equation numbers and the
    scalar eps from memory].
    Differs: with eps learned, the fixed eps is added to it.
    """

    eps: float = 1e-6
    learn_eps: bool = False
    unit: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_eps(self.eps)
        if self.unit and self.placement == "post":
            raise ValueError("placement must be 'pre', not 'post': the thresholded unit replaces the nonlinearity")

    def activation(self, num_features: int) -> nn.Module:
        return FilterResponse(num_features, self.eps, self.learn_eps, self.unit)

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        return nn.Identity() if self.unit else fn

    def block(self, layer: nn.Module, fn: nn.Module | None = None) -> nn.Module:
        if fn is None and self.unit:
            return replace(self, unit=False).block(layer)
        return super().block(layer, fn)
