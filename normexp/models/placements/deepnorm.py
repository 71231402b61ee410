"""Normalization behind every addition, of a stream that weighs more."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site, scale_values_and_outputs
from normexp.models.transformer.stream import Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class DeepNorm(Placement):
    """N(a x + f(x)) with a = (2 L)^(1/4).

    Initialization: value, output and feed-forward weights divided by (8 L)^(1/4).
    Source: Wang et al. 2022, arXiv:2203.00555, a decoder or an encoder alone. Differs: the weights that are
    divided are as they were drawn; there they are Glorot's.
    """

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        skip = (2 * site.depth) ** 0.25
        return Residual(branch, after=norm.sequence(site.width), skip=skip, dropout=site.dropout)

    def initialize(self, model: nn.Module) -> None:
        scale_values_and_outputs(model, lambda depth: (8 * depth) ** -0.25)
