"""Branches that begin at zero, with one learned number a layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.stream import Borrowed, Gain, Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class ReZero(Placement):
    """x + a f(x), with one a a layer, for attention and feed-forward, that is learned from 0. Nothing is normalized.

    Initialization: weights as drawn; a = 0, so that the network begins as the identity.
    Source: Bachlechner et al. 2020, arXiv:2003.04887; majumderb/rezero.
    """

    scales_outputs = False

    def layer(self, attention: nn.Module, feed_forward: nn.Module, norm: Norm, site: Site) -> list[nn.Module]:
        gain = Gain(0.0)
        return [
            Residual(attention, within=gain, dropout=site.dropout),
            Residual(feed_forward, within=Borrowed(gain), dropout=site.dropout),
        ]
