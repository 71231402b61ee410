"""A second normalization inside every branch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import scale_values_and_outputs
from normexp.models.placements.pre import Pre
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Sub(Pre):
    """x + W2 N2(g(W1 N1(x))): a second N in front of the branch's output layer W2, and one N at the end.

    g is what the branch computes between its first and its last layer: the heads, or the nonlinearity.
    Initialization: value, output and feed-forward weights multiplied by sqrt(ln 2 L).
    Source: Wang et al. 2022, arXiv:2210.06423 (Magneto, a decoder); constants as in
    microsoft/torchscale.
    """

    def inner(self, norm: Norm, num_features: int) -> nn.Module:
        return norm.sequence(num_features)

    def initialize(self, model: nn.Module) -> None:
        scale_values_and_outputs(model, lambda depth: math.sqrt(math.log(2 * depth)))
