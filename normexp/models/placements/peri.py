"""Normalization in front of every branch and behind it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.stream import Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Peri(Placement):
    """x + N2(f(N1(x))), with an N on the embedding and one at the end; also called sandwich normalization.

    Initialization: weights as drawn; their scale in front of N2 matters little.
    Source: Kim et al. 2025, arXiv:2502.02732; Ding et al. 2021, arXiv:2105.13290 (CogView),
    for the sandwich, which has no N on the embedding.
    """

    scales_outputs = False

    def embedding(self, norm: Norm, width: int) -> nn.Module:
        return norm.sequence(width)

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        before, within = norm.sequence(site.width), norm.sequence(site.width)
        return Residual(branch, before=before, within=within, dropout=site.dropout)

    def final(self, norm: Norm, width: int) -> nn.Module:
        return norm.sequence(width)
