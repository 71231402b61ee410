"""Branches whose weights begin small, and whose last layer begins at zero."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from normexp.models.placements.base import Placement, Site, layers_of, scale, set_to_zero
from normexp.models.transformer.stream import Gain, Residual, Shift
from normexp.norms.base import Norm


@dataclass(frozen=True, kw_only=True)
class Fixup(Placement):
    """x + a f(x + b) + c, with one learned number a, b and c a branch, a from 1, b and c from 0. Nothing is normalized.

    Initialization: all but the last layer of a branch divided by sqrt(number of branches), 2 L; the last one 0.
    Source: Zhang, Dauphin & Ma 2019, arXiv:1901.09321, with two layers a branch. Differs: no scalar biases
    inside a branch, whose linear layers have biases of their own; the network's output layer, the embedding, begins as
    drawn, there at 0.
    """

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        return Residual(branch, before=Shift(), within=nn.Sequential(Gain(1.0), Shift()), dropout=site.dropout)

    def initialize(self, model: nn.Module) -> None:
        found = layers_of(model)
        for attention, feed_forward in found:
            scale(attention.qkv, (2 * len(found)) ** -0.5)
            scale(feed_forward.expand, (2 * len(found)) ** -0.5)
            for branch in (attention, feed_forward):
                set_to_zero(branch.output.parameters())
