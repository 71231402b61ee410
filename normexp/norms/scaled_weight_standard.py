"""Scaled weight standardization, the normalization-free scheme of NF-ResNets and NFNets."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm, output_dim
from normexp.norms.kernels.fan_in import UnitWeights, check_several, entering, one_per_unit
from normexp.norms.kernels.gaussian import activation_moments
from normexp.norms.kernels.spread import var_mean
from normexp.norms.options import positive


class ScaledStandardWeight(UnitWeights):
    """Parametrization W -> gain (W - mean) / sqrt(max(n var, eps)) over the n weights of one output unit."""

    def __init__(self, layer: nn.Module, eps: float) -> None:
        super().__init__(output_dim(layer))
        self.eps, self.gain = eps, one_per_unit(layer, 1.0)

    def forward(self, weight: Tensor) -> Tensor:
        var, mean = var_mean(weight, entering(weight, self.dim), 0)
        fan_in = weight.numel() // weight.shape[self.dim]
        return (weight - mean) * (self.gain * (fan_in * var).clamp(min=self.eps).rsqrt())


class Scaled(nn.Module):
    """fn(x) times a constant."""

    def __init__(self, fn: nn.Module, scale: float) -> None:
        super().__init__()
        self.fn, self.scale = fn, scale

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(x) * self.scale

    def extra_repr(self) -> str:
        return f"scale={self.scale:.6f}"


@dataclass(frozen=True, kw_only=True)
class ScaledWeightStandardization(Norm):
    """Standardized weights that keep the variance of their input, and an activation that does so too.

    w = gain (W - mean) / sqrt(max(n var, eps)), over the n = fan-in weights of an output unit, biased variance,
    one learned gain per unit (starts at 1); the activation is gamma f(x), gamma = 1 / std(f(Y)), Y ~ N(0, 1),
    by quadrature: sqrt(2 / (1 - 1/pi)) = 1.712859 for ReLU, which is 1 / c1 of normalization propagation.
    Nothing depends on the batch: training equals evaluation. `parametrizations.weight.original` is W.

    Args:
        eps: least value of n var.
        placement: no effect, nothing is done to activations.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: for a layer with a single weight per output unit; for a transposed convolution in several
            groups; for a nonlinearity that does not act element by element.

    Source: Brock, De & Smith 2021, arXiv:2101.08692; the gain and eps as in the code of Brock, De, Smith & Simonyan
    2021, arXiv:2102.06171.
    Differs: Linear layers are standardized too. The residual branches' alpha and beta and adaptive gradient
    clipping belong to those networks and are not part of the scheme.
    """

    eps: float = positive(1e-4)

    def parametrize(self, layer: nn.Module) -> nn.Module:
        step = ScaledStandardWeight(layer, self.eps)
        check_several(layer)
        return parametrize.register_parametrization(layer, "weight", step)

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        _, std = activation_moments(fn)
        return Scaled(fn, 1 / std)
