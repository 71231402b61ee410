"""Initialization from one batch, unit by unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.models.init.base import Init
from normexp.norms.base import output_dim, set_weight, weight_layers
from normexp.norms.networks.trial import set_in_turn
from normexp.norms.weight import mean_and_std, units_last


@dataclass(frozen=True, kw_only=True)
class DataDependent(Init):
    """Weights N(0, 0.05^2), then scale and bias of every unit so that its output has mean 0 and deviation 1 on a batch.

    W <- W / std[W x] and b <- -mean[W x / std[W x]], per output unit or channel, over the batch and all positions,
    layer by layer. The output is the layer's own, before any normalization; a layer without bias gets the scale
    alone, and a unit that is constant on the batch keeps its own. A weight scheme that undoes the scaling of every
    unit (weight_standard, scaled_weight_standard, normprop) keeps its weights; spectral undoes what is common to the
    units, so that they have one deviation, which is not 1.

    Raises: ValueError in `fit`, if a layer's output has one value per channel.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 3, equations 5 and 6, here without weight normalization,
    as for the normal parameterization in their released code. Differs: there the scale is a factor of its own that is
    not trained, and W is drawn as Glorot does; here it is multiplied into W, of whose scale nothing is left.
    """

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return empty.normal_(0.0, 0.05, generator=source)

    def fit(self, model: nn.Module, batch: Tensor) -> None:
        set_in_turn(weight_layers(model), standardize, model, batch)


def standardize(layer: Any, inputs: Any, output: Tensor) -> Tensor:
    """Forward hook: give a layer's units mean 0 and standard deviation 1, and pass that output on."""
    _, std = mean_and_std(units_last(layer, output))
    shape = [-1 if dim == output_dim(layer) else 1 for dim in range(layer.weight.dim())]
    set_weight(layer, layer.weight / std.view(shape).to(layer.weight))
    if layer.bias is not None:
        mean, _ = mean_and_std(units_last(layer, layer.forward(*inputs)))  # not layer(...), which would call its hooks
        layer.bias.sub_(mean)
    scaled: Tensor = layer.forward(*inputs)
    return scaled
