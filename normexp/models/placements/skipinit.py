"""Branches that begin at zero, with one learned number a branch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.stream import Gain, Residual
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class SkipInit(Placement):
    """x + a f(x), with one a a branch that is learned from `start`. Nothing is normalized.

    Initialization: weights as drawn.
    Source: De & Smith 2020, arXiv:2002.10444, there for residual networks of convolutions.
    """

    scales_outputs = False
    start: float = 0.0

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        return Residual(branch, within=Gain(self.start), dropout=site.dropout)
