"""Normalization of queries, keys and values, and of what enters the feed-forward branch and passes it by."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.attention import HeadNorms
from normexp.models.transformer.stream import Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Hybrid(Placement):
    """y = x + f(x) with N on queries, keys and values of f, then z = N(y), z + g(z); and one N at the end.

    f is attention, g feed-forward. The addition that follows the branch g passes on what N has made.
    Initialization: output layers of branches divided by sqrt(2 L).
    Source: Zhuo et al. 2025, arXiv:2503.04598 (HybridNorm, not HybridNorm*), as in notes on it. Differs: the N at the
    end is not in the formula; the network there, OLMo's, has one.
    """

    def layer(self, attention: nn.Module, feed_forward: nn.Module, norm: Norm, site: Site) -> list[nn.Module]:
        return [
            Residual(attention, dropout=site.dropout),
            Residual(feed_forward, first=norm.sequence(site.width), dropout=site.dropout),
        ]

    def heads(self, norm: Norm, heads: int, width: int) -> HeadNorms:
        return HeadNorms(norm.sequence(width), norm.sequence(width), norm.sequence(width))

    def final(self, norm: Norm, width: int) -> nn.Module:
        return norm.sequence(width)
