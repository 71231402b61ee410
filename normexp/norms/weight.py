"""Weight normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize

from normexp.norms.base import Norm, at_least_float32, output_dim, weight_layers
from normexp.norms.networks.trial import set_in_turn


@dataclass(frozen=True, kw_only=True)
class WeightNorm(Norm):
    """Each output unit's weight vector as a length times a direction.

    w = g v / ||v||, one g per output unit or channel, the norm over all that enters it; g and v are learned
    in place of w, next to the layer's own bias b. Nothing depends on the batch: training equals evaluation.
    `parametrizations.weight.original0` is g, `original1` is v. Assigning to `layer.weight` sets both.

    Args:
        data_init: set g and b from one batch so that every layer's output W x + b has mean 0 and standard
            deviation 1 per channel on it (g = 1 / std[t], b = -mean[t] / std[t] with t = v x / ||v||), layer
            by layer. A layer without bias, as under mean-only batch normalization, gets g alone.
        placement: no effect, nothing is done to activations.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: for a transposed convolution in several groups; in `initialize`, if a layer's output has one
            value per channel or a unit's weights are all 0.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, equation 2; initialization: section 3, equations 5 and 6.
    Differs: v starts as the layer's own initial weight, in the paper as N(0, 0.05^2). A unit that is constant
    on the batch keeps its scale, where the paper divides by 0. Second derivatives in g and v are wrong, as those
    of torch's fused weight_norm are: do not differentiate its gradient.
    """

    data_init: bool = True

    def parametrize(self, layer: nn.Module) -> nn.Module:
        return parametrizations.weight_norm(layer, dim=output_dim(layer))

    def initialize(self, model: nn.Module, batch: Tensor) -> None:
        if not self.data_init:
            return
        layers = [layer for layer in weight_layers(model) if gain(layer) is not None]
        set_in_turn(layers, standardize, model, batch)


def gain(layer: nn.Module) -> Tensor | None:
    """Return g of a weight-normalized layer, or None for any other."""
    if not parametrize.is_parametrized(layer, "weight"):
        return None
    steps: Any = layer.parametrizations
    first = steps.weight[0]
    return steps.weight.original0 if isinstance(first, parametrizations._WeightNorm) else None


def standardize(layer: Any, inputs: Any, output: Tensor) -> Tensor:
    """Forward hook: rescale a layer so that this output is standardized, and pass the new output on.

    Raises: ValueError for a unit without a direction, and for a single value per unit.
    """
    g = gain(layer)
    assert g is not None
    if not g.all():
        shape = tuple(layer.weight.shape)  # not the layer's text, which has several lines
        raise ValueError(f"weight norm: a unit of the layer of weights {shape} has zeros, which have no direction")
    units = units_last(layer, output)
    mean, std = mean_and_std(units)
    g.div_(std.view_as(g))
    if layer.bias is None:
        mean = torch.zeros_like(mean)
    else:
        layer.bias.sub_(mean).div_(std)
    scaled = ((units - mean) / std).to(output.dtype)
    return scaled if isinstance(layer, nn.Linear) else scaled.movedim(-1, 1)


def units_last(layer: nn.Module, output: Tensor) -> Tensor:
    """Return a layer's output as (*, C), a view."""
    return output if isinstance(layer, nn.Linear) else output.movedim(1, -1)


def mean_and_std(units: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and biased standard deviation of each unit of (*, C); 1 for a constant one (up to rounding).

    Raises: ValueError for a single value per unit.
    """
    t = units.reshape(-1, units.shape[-1])
    if t.shape[0] < 2:
        raise ValueError(
            "initialization from data needs more than one value per channel (several examples), or data_init=false"
        )
    var, mean = torch.var_mean(at_least_float32(t), 0, correction=0)
    std = var.sqrt()
    constant = std <= 4 * torch.finfo(t.dtype).eps * mean.abs()
    return mean, torch.where(constant, 1.0, std)
