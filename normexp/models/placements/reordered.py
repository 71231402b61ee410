"""Normalization behind every branch, before the addition."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.attention import HeadNorms
from normexp.models.transformer.stream import Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Reordered(Placement):
    """x + N(f(x)), N on queries and keys, and one N at the end.

    Initialization: weights as drawn; their scale in front of N matters little.
    Source: OLMo 2, arXiv:2501.00656. Differs: N on queries and keys is over the
    features of a head, as `model.qk_norm` is; OLMo 2's is over those of all heads.
    """

    scales_outputs = False

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        return Residual(branch, within=norm.sequence(site.width), dropout=site.dropout)

    def heads(self, norm: Norm, heads: int, width: int) -> HeadNorms:
        return HeadNorms(norm.sequence(width), norm.sequence(width), nn.Identity())

    def final(self, norm: Norm, width: int) -> nn.Module:
        return norm.sequence(width)
