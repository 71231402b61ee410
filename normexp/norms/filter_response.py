"""Filter response normalization with its thresholded linear unit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import channel_sum, multiply_add, over_positions, position_sum
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.options import positive


class FilterResponse(PerChannel):
    """Divide each channel of each sample by its root mean square, scale, shift, and cut off below `threshold`."""

    gains_from_compile = True

    threshold: nn.Parameter | None
    eps_learned: nn.Parameter | None

    def __init__(self, num_features: int, eps: float, learn_eps: bool, threshold: bool) -> None:
        super().__init__(num_features)
        self.eps = eps
        self.learn(weight=True, bias=True)
        self.register_parameter("threshold", nn.Parameter(torch.zeros(num_features)) if threshold else None)
        self.register_parameter("eps_learned", nn.Parameter(torch.tensor(1e-4)) if learn_eps else None)

    def forward(self, x: Tensor) -> Tensor:
        if self.eps_learned is None and num_positions(x) == 1:
            raise ValueError(
                "filter response normalization with a fixed eps needs more than one value per channel "
                f"(else learn_eps=true), input has shape {tuple(x.shape)}"
            )
        affine, threshold = self.affine, [] if self.threshold is None else [self.threshold]
        fixed = at_least_float32(affine[0]).new_tensor(self.eps)  # of which float16 may make 0
        eps = fixed if self.eps_learned is None else self.eps + self.eps_learned.abs()
        return recomputed(respond, respond_gradient, x, eps, *affine, *threshold)


def respond(x: Tensor, eps: Tensor, weight: Tensor, bias: Tensor, *threshold: Tensor) -> Tensor:
    """Return z = weight x / sqrt(nu2 + eps) + bias, or the larger of z and the threshold."""
    z = multiply_add(x, inverse_root(x, eps) * weight, bias)
    if not threshold:
        return z
    limit = over_positions(threshold[0], x)
    return limit + (z - limit).relu()  # max(a, b) = a + relu(b - a), whose backward is several times faster


def respond_gradient(
    grad: Tensor, x: Tensor, eps: Tensor, weight: Tensor, bias: Tensor, *threshold: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs in their order, each of the shape of its input."""
    rrms, rest = inverse_root(x, eps), []
    scale = rrms * weight
    if threshold:
        above = multiply_add(x, scale, bias).sub_(over_positions(threshold[0], x))
        passed = torch.ops.aten.threshold_backward(grad, above, 0)
        rest, grad = [channel_sum(grad) - channel_sum(passed)], passed
    slope = position_sum(grad * x)
    grad_mean_square = slope * weight * rrms**3 / -2
    through = grad_mean_square * (2 / num_positions(x))
    grad_x = (grad * over_positions(scale, x)).add_(x * over_positions(through, x))
    return grad_x, grad_mean_square.sum(), (slope * rrms).sum(0), channel_sum(grad), *rest


def inverse_root(x: Tensor, eps: Tensor) -> Tensor:
    """Return 1 / sqrt(nu2 + eps) for nu2 the mean of x^2 over the positions: (N, C)."""
    return (position_sum(x.square()) / num_positions(x) + eps).rsqrt()


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

    Source: Singh & Krishnan 2020, arXiv:1911.09737, where maps of one position learn eps.
    Differs: with eps learned, the fixed eps is added to it; it is one number for all channels.
    """

    eps: float = positive(1e-6)
    learn_eps: bool = False
    unit: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit and self.placement == "post":
            raise ValueError("placement must be 'pre', not 'post': the thresholded unit replaces the nonlinearity")

    def normalization(self, num_features: int) -> nn.Module:
        return FilterResponse(num_features, self.eps, self.learn_eps, self.unit)

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        return nn.Identity() if self.unit else fn

    def linear_normalization(self, num_features: int) -> nn.Module:
        return FilterResponse(num_features, self.eps, self.learn_eps, threshold=False)
