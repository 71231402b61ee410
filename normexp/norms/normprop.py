"""Normalization propagation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm, num_outputs, output_dim, weight_layers
from normexp.norms.gaussian import activation_moments, maximum_moments

RELU_GAIN = 1.21  # as printed: the root of pi / (pi - 1) = 1.4669, by which a ReLU layer scales gradients
MAXIMA = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
AVERAGES = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)


class UnitLengthWeight(nn.Module):
    """Parametrization W -> gamma W / (factor ||W||), one length and one learned gamma per output unit."""

    def __init__(self, layer: nn.Module, gamma: float, factor: float) -> None:
        super().__init__()
        weight = layer.weight
        assert isinstance(weight, Tensor)
        self.dim, self.factor = output_dim(layer), factor
        shape = [num_outputs(layer) if dim == self.dim else 1 for dim in range(weight.dim())]
        self.gamma = nn.Parameter(weight.new_full(shape, gamma))

    def forward(self, weight: Tensor) -> Tensor:
        return weight * (self.gamma / (self.factor * lengths(weight, self.dim)))

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight


def lengths(weight: Tensor, dim: int) -> Tensor:
    """Return the Euclidean length of each output unit's weights, with the dimensions kept."""
    entering = [other for other in range(weight.dim()) if other != dim]
    return torch.linalg.vector_norm(weight, dim=entering, keepdim=True)


class Standardized(nn.Module):
    """(fn(x) - mean) / std with constants."""

    def __init__(self, fn: nn.Module, mean: float, std: float) -> None:
        super().__init__()
        self.fn, self.mean, self.std = fn, mean, std

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(x).sub(self.mean).mul_(1 / self.std)  # only sub's fresh result is changed in place

    def extra_repr(self) -> str:
        return f"mean={self.mean:.6f}, std={self.std:.6f}"


@dataclass(frozen=True, kw_only=True)
class NormProp(Norm):
    """Unit-length weights and an activation standardized by constants: N(0, 1) in gives mean 0, variance 1 out.

    a = gamma W x / ||W|| + beta per output unit (the norm over all that enters it), o = (f(a) - c2) / c1 with
    c2 and c1 the mean and standard deviation of f(Y), Y ~ N(0, 1), by quadrature for any f: 0.398942 and
    0.583819 for ReLU. The gradient passes through ||W||. beta is the layer's own bias. Nothing depends on the
    batch: training equals evaluation. `parametrizations.weight.original` is W, `weight.0.gamma` is gamma.

    The paper's two aims exclude each other. A ReLU layer's Jacobian has singular values near
    sqrt(pi / (pi - 1)) = 1.21. With gamma = 1 outputs keep mean 0 and variance 1, but gradients grow 1.21-fold
    per layer; with gamma = 1/1.21 gradients keep their size, but activations shrink, and c1 and c2, which
    assume variance 1, no longer fit. Other nonlinearities have other factors (tanh 1.09, ELU 1.04).

    Args:
        jacobian: where the factor 1.21 goes. `gamma`: gamma starts at 1/1.21. `weight`: gamma starts at 1 and
            1.21 multiplies ||W||, as in the second author's code; the same function at first, other gradients
            of gamma. `none`: gamma starts at 1 and there is no factor.
        beta: initial value of every bias.
        project: set every unit's W to length 1 before training and after every optimizer step.
        correct_pooling: standardize average and max pooling too, by the moments of the mean or the largest of
            independent N(0, 1) (the networks ask by `norm.pool`).
        placement: no effect, nothing is added to activations.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: for a nonlinearity that does not act element by element; for a transposed convolution in
            several groups.

    Source: Arpit, Zhou, Kota & Govindaraju 2016, arXiv:1603.01431; the first author's slides (formulae, c1, c2,
    1.21); code of the second author (`jacobian: weight`); projection after every iteration: the authors'
    rebuttal at ICML. That gamma starts at 1/1.21 is from memory, not checked against the paper.
    Differs: the paper takes inputs standardized once, with the training set's mean and deviation per feature:
    inputs=standardize inputs.per=feature. The code corrects no pooling.
    """

    jacobian: str = "gamma"
    beta: float = 0.0
    project: bool = True
    correct_pooling: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jacobian not in ("gamma", "weight", "none"):
            raise ValueError(f"jacobian must be 'gamma', 'weight' or 'none', not {self.jacobian!r}")

    def weight(self, layer: nn.Module) -> nn.Module:
        gamma = 1 / RELU_GAIN if self.jacobian == "gamma" else 1.0
        factor = RELU_GAIN if self.jacobian == "weight" else 1.0
        return parametrize.register_parametrization(layer, "weight", UnitLengthWeight(layer, gamma, factor))

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        return Standardized(fn, *activation_moments(fn))

    def pool(self, module: nn.Module) -> nn.Module:
        known = self.correct_pooling and isinstance(module, (*MAXIMA, *AVERAGES))
        return Standardized(module, *pooling_moments(module)) if known else module

    @torch.no_grad()
    def initialize(self, model: nn.Module, batch: Tensor) -> None:
        for layer in weight_layers(model):
            if unit_length(layer) is not None and layer.bias is not None:
                layer.bias.fill_(self.beta)  # type: ignore[operator]
        if project := self.after_step(model):
            project()

    def after_step(self, model: nn.Module) -> Callable[[], None] | None:
        steps = [step for layer in weight_layers(model) if (step := unit_length(layer)) is not None]
        if not self.project or not steps:
            return None

        @torch.no_grad()
        def project() -> None:
            for weight, dim in steps:
                weight.div_(lengths(weight, dim))

        return project


def unit_length(layer: nn.Module) -> tuple[Tensor, int] | None:
    """Return W of a layer under this scheme and the dimension of its output units, or None."""
    if not parametrize.is_parametrized(layer, "weight"):
        return None
    parametrizations: Any = layer.parametrizations
    step = parametrizations.weight[0]
    return (parametrizations.weight.original, step.dim) if isinstance(step, UnitLengthWeight) else None


def pooling_moments(module: nn.Module) -> tuple[float, float]:
    """Return mean and standard deviation of the pool of independent N(0, 1)."""
    sizes: Any = module.kernel_size
    rank = int(type(module).__name__.removesuffix("d")[-1])
    count = math.prod(sizes) if isinstance(sizes, tuple) else sizes**rank
    return maximum_moments(count) if isinstance(module, MAXIMA) else (0.0, count**-0.5)
