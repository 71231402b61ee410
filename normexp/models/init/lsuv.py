"""Layer-sequential unit-variance initialization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.models.init.base import Init
from normexp.norms.base import at_least_float32, set_weight, weight_layers
from normexp.norms.networks.trial import set_in_turn


@dataclass(frozen=True, kw_only=True)
class LSUV(Init):
    """Orthonormal weights, then layer by layer divided until the output's variance on one batch is 1; bias 0.

    W <- W / sqrt(var(output)) while |var - 1| > tolerance, at most max_iterations times per layer; var over the
    batch, all units and all positions. The output is the layer's own, before any normalization; a weight
    scheme that undoes every scaling (spectral, weight_standard, scaled_weight_standard, normprop) keeps its weights.

    Args:
        tolerance: 0.02 in the authors' code.
        max_iterations: 20 in the authors' code.

    Source: Mishkin & Matas 2016, arXiv:1511.06422; constants as in the authors' code.
    """

    tolerance: float = 0.02
    max_iterations: int = 20

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return nn.init.orthogonal_(empty, generator=source)

    def fit(self, model: nn.Module, batch: Tensor) -> None:
        set_in_turn(weight_layers(model), self.to_unit_variance, model, batch)

    def to_unit_variance(self, layer: Any, inputs: Any, output: Tensor) -> Tensor:
        """Forward hook: rescale a layer until its output has variance 1, and pass that output on."""
        for _ in range(self.max_iterations):
            var = at_least_float32(output).var(correction=0)
            if (var - 1).abs() <= self.tolerance or not var > 0:
                break
            set_weight(layer, layer.weight / var.sqrt())
            output = layer.forward(*inputs)  # not layer(...), which would call its hooks
        return output
