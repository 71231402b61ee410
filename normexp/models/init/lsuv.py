"""Layer-sequential unit-variance initialization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.models.init.base import Init
from normexp.norms.base import at_least_float32, set_weight, weight_layers
from normexp.norms.kernels.trial import forward_with


@dataclass(frozen=True, kw_only=True)
class LSUV(Init):
    """Orthonormal weights, then layer by layer divided until the output's variance on one batch is 1; bias 0.

    W <- W / sqrt(var(output)) while |var - 1| > tolerance, at most max_iterations times per layer; var over the
    batch, all units and all positions. The output is the layer's own, before any normalization; a weight
    scheme that undoes every scaling (spectral, weight_standard, normprop) keeps its weights.

    Args:
        tolerance: 0.02 in the authors' code.
        max_iterations: 20 in the authors' code.

    Source: Mishkin & Matas 2016, arXiv:1511.06422, algorithm 1; constants as in the authors' code.
    """

    tolerance: float = 0.02
    max_iterations: int = 20

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return nn.init.orthogonal_(empty, generator=source)

    def fit(self, model: nn.Module, batch: Tensor) -> None:
        layers = weight_layers(model)
        forward_with({layer: UnitVarianceOnce(self.tolerance, self.max_iterations) for layer in layers}, model, batch)


class UnitVarianceOnce:
    """Forward hook: rescale a layer until its output has variance 1, and pass that output on.

    Hooks run in call order, so each layer sees the outputs of layers that are done. A layer that is called
    again is left as its first call set it.
    """

    def __init__(self, tolerance: float, max_iterations: int) -> None:
        self.tolerance, self.iterations_left = tolerance, max_iterations

    def __call__(self, layer: Any, inputs: Any, output: Tensor) -> Tensor:
        while self.iterations_left:
            var = at_least_float32(output).var(correction=0)
            if (var - 1).abs() <= self.tolerance or not var > 0:
                break
            self.iterations_left -= 1
            set_weight(layer, layer.weight / var.sqrt())
            output = layer.forward(*inputs)  # not layer(...), which would call this hook
        self.iterations_left = 0
        return output
