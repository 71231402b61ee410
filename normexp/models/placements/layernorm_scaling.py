"""Normalization in front of every branch, the deeper the smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Site
from normexp.models.placements.pre import Pre
from normexp.models.transformer.stream import Residual, Times
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class LayerNormScaling(Pre):
    """x + f(N(x) / sqrt(l)) in layer l = 1..L, and one N at the end.

    Initialization: weights as drawn: not together with output layers divided by sqrt(2 L).
    Source: Sun et al. 2025, "The curse of depth in large language models", arXiv:2502.05795;
    lmsdss/LayerNorm-Scaling.
    """

    scales_outputs = False

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        before = nn.Sequential(norm.sequence(site.width), Times(1 / math.sqrt(site.layer)))
        return Residual(branch, before=before, dropout=site.dropout)
