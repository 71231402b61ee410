"""Normalization behind the additions of the first layers, in front of the branches of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Site
from normexp.models.placements.post import Post
from normexp.models.placements.pre import Pre
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Mix(Pre):
    """N(x + f(x)) in the first quarter of the layers, x + f(N(x)) in the others, and one N at the end.

    Args:
        share: of the layers that are post, from the first; their number is rounded up.

    Initialization: weights as drawn.
    Source: Li et al. 2024, arXiv:2412.13795; pixeli99/MixLN.
    """

    scales_outputs = False
    share: float = 0.25

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        kind = Post() if site.layer <= math.ceil(round(self.share * site.depth, 6)) else Pre()
        return kind.residual(branch, norm, site)
