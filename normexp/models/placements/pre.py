"""Normalization in front of every branch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.stream import Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Pre(Placement):
    """x + f(N(x)), and one N at the end.

    Initialization: as GPT-2, output layers of branches divided by sqrt(2 L).
    Source: Xiong et al. 2020, arXiv:2002.04745; Radford et al. 2019 (GPT-2).
    """

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        return Residual(branch, before=norm.sequence(site.width), dropout=site.dropout)

    def final(self, norm: Norm, width: int) -> nn.Module:
        return norm.sequence(width)


PRE = Pre()  # where transformers have their scheme if nothing else is said
