"""Normalization behind every addition."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.stream import Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Post(Placement):
    """N(x + f(x)), as in the first transformer; none at the end, where the last layer's stands.

    Initialization: weights as drawn.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.1.
    """

    scales_outputs = False

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        return Residual(branch, after=norm.sequence(site.width), dropout=site.dropout)
