"""Normalization propagation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm, Site, Step, TimeStep, output_dim, weight_layers
from normexp.norms.kernels.fan_in import UnitWeights, entering, one_per_unit
from normexp.norms.kernels.gaussian import activation_moments, maximum_moments, nodes
from normexp.norms.options import one_of, positive

# The root of pi / (pi - 1) = 1.4669, by which a ReLU layer scales gradients, as the second author's code has it.
RELU_GAIN = 1.21
MAXIMA = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
AVERAGES = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)


class UnitLengthWeight(UnitWeights):
    """Parametrization W -> gamma W / (factor ||W||), one length and one learned gamma per output unit."""

    def __init__(self, layer: nn.Module, gamma: float, factor: float) -> None:
        super().__init__(output_dim(layer))
        self.factor, self.gamma = factor, one_per_unit(layer, gamma)

    def forward(self, weight: Tensor) -> Tensor:
        return weight * (self.gamma / (self.factor * lengths(weight, self.dim)))


def lengths(weight: Tensor, dim: int) -> Tensor:
    """Return the Euclidean length of each output unit's weights, with the dimensions kept."""
    return torch.linalg.vector_norm(weight, dim=entering(weight, dim), keepdim=True)


class Standardized(nn.Module):
    """(fn(x) - mean) / std with constants."""

    def __init__(self, fn: nn.Module, mean: float, std: float) -> None:
        super().__init__()
        self.fn, self.mean, self.std = fn, mean, std

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(x).sub(self.mean).mul_(1 / self.std)  # only sub's fresh result is changed in place

    def extra_repr(self) -> str:
        return f"mean={self.mean:.6f}, std={self.std:.6f}"


class Scale(Step):
    """weight x / std with a constant std and, unless `affine` is False, a learned weight: (C,) that starts at 1."""

    weight: nn.Parameter | None

    def __init__(self, num_features: int, std: float, affine: bool) -> None:
        super().__init__()
        self.std = std
        self.register_parameter("weight", nn.Parameter(torch.ones(num_features)) if affine else None)

    def forward(self, x: Tensor, t: int) -> Tensor:
        return x * (1 / self.std if self.weight is None else self.weight / self.std)

    def all_steps(self, x: Tensor, sizes: list[int]) -> Tensor:
        return self(x, 0)

    def extra_repr(self) -> str:
        return f"std={self.std:.6f}, affine={self.weight is not None}"


class OfScaled(nn.Module):
    """fn(scale x)."""

    def __init__(self, fn: nn.Module, scale: float) -> None:
        super().__init__()
        self.fn, self.scale = fn, scale

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(self.scale * x)


def second_moment(fn: nn.Module, std: float) -> float:
    """Return E[fn(std Y)^2], Y ~ N(0, 1)."""
    mean, spread = activation_moments(OfScaled(fn, std))
    return mean**2 + spread**2


def recurrent_std(site: Site, gain: float) -> float:
    """Return the standard deviation that the values at `site` settle at, for gates N(0, 2 gain^2).

    Var c = Var[tanh g] E[s(i)^2] / (1 - E[s(f)^2]) and, with c divided by its deviation, Var h = Var[tanh z]
    E[s(o)^2], z ~ N(0, 1), in an LSTM; Var h = Var[tanh a] in an RNN. In a GRU the update gate mixes h as i and f
    mix c, but they sum to 1 and have equal second moments; its candidate has variance gain^2 (1 + s(r)^2) given r.
    """
    gates = math.sqrt(2) * gain
    gate = second_moment(nn.Sigmoid(), gates)
    if site == "lstm":
        return math.sqrt(second_moment(nn.Tanh(), 1.0) * gate)
    if site == "rnn":
        return math.sqrt(second_moment(nn.Tanh(), gates))
    new = second_moment(nn.Tanh(), gates) if site == "memory" else candidate_moment(gain)
    return math.sqrt(new * gate / (1 - gate))


def candidate_moment(gain: float) -> float:
    """Return the second moment of a GRU's candidate, E[tanh(a + s(r) b)^2], a, b ~ N(0, gain^2), r ~ N(0, 2 gain^2)."""
    y, density = nodes()
    std = gain * (1 + (math.sqrt(2) * gain * y).sigmoid().square()).sqrt()  # given r
    return float(density @ (std[:, None] * y).tanh().square() @ density)


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
        recurrent_gain: start of gamma for W_x and W_h of a recurrent network.
        placement: no effect, nothing is added to activations.

    In a recurrent network W_x and W_h have gammas of their own and no factor; an LSTM's h is divided by a constant,
    and so is c on its way into tanh, where a third gamma (starts at 1) follows. The constants assume inputs and h
    of variance 1 and biases of 0, `forget_bias` included. RNN and GRU by the same derivation: not in the paper.

    Shape: (N, C, *) -> (N, C, *); recurrent: (N, C), step t -> (N, C).

    Raises:
        ValueError: for a nonlinearity that does not act element by element; for a pooling layer that returns indices
            too, unless correct_pooling=false; for a transposed convolution in several groups.

    Source: Arpit, Zhou, Kota & Govindaraju 2016, arXiv:1603.01431; the first author's slides (formulae, c1, c2, 1.2 for
    the factor); code of the second author (1.21, `jacobian: weight`); projection after every iteration: the authors'
    rebuttal at ICML. gamma starts at 1/1.21, so that a unit's Jacobian starts at 1. In recurrent networks: Laurent,
    Ballas & Vincent, "Recurrent Normalization Propagation", with the variance gamma_x^2 + gamma_h^2 of their
    equations 22 and 23 (their 9 and 10 use another).
    Differs: the paper takes inputs standardized once, with the training set's mean and deviation per feature:
    inputs=standardize inputs.per=feature. The code corrects no pooling.
    """

    jacobian: str = one_of("gamma", "weight", "none")
    beta: float = 0.0
    project: bool = True
    correct_pooling: bool = True
    recurrent_gain: float = positive(2.0)

    def parametrize(self, layer: nn.Module) -> nn.Module:
        gamma = 1 / RELU_GAIN if self.jacobian == "gamma" else 1.0
        factor = RELU_GAIN if self.jacobian == "weight" else 1.0
        return parametrize.register_parametrization(layer, "weight", UnitLengthWeight(layer, gamma, factor))

    def recurrent(self, num_features: int, max_steps: int, site: Site = "sum") -> Step:
        if site in ("term", "sum"):
            return TimeStep(nn.Identity())
        return Scale(num_features, recurrent_std(site, self.recurrent_gain), affine=site == "memory")

    def parametrize_recurrent(self, layer: nn.Module) -> nn.Module:
        step = UnitLengthWeight(layer, self.recurrent_gain, factor=1.0)
        return parametrize.register_parametrization(layer, "weight", step)

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
        if project := self.step_hook(model):
            project()

    def step_hook(self, model: nn.Module) -> Callable[[], None] | None:
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
    """Return mean and standard deviation of the pool of independent N(0, 1).

    Raises: ValueError for a pool with indices beside its output.
    """
    if getattr(module, "return_indices", False):
        raise ValueError("a pool that returns indices too has two outputs; constants standardize one")
    sizes: Any = module.kernel_size
    rank = next(rank for rank, kinds in enumerate(zip(MAXIMA, AVERAGES, strict=True), 1) if isinstance(module, kinds))
    count = sizes**rank if isinstance(sizes, int) else math.prod(sizes)
    if isinstance(module, MAXIMA):
        return maximum_moments(count)
    share = count / (getattr(module, "divisor_override", None) or count)  # of the mean
    return 0.0, count**-0.5 * share
