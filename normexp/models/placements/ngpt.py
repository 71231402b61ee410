"""Everything on the unit sphere: the stream, queries and keys, and the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.models.placements.base import Placement, Site, layers_of
from normexp.models.transformer.attention import HeadNorms
from normexp.models.transformer.stream import Borrowed, Gain
from normexp.norms.base import Norm, set_weight


class Unit(nn.Module):
    """x divided by its length, over the last dimension."""

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=-1)


class Interpolated(nn.Module):
    """h -> U(h + |a| (U(f(h)) - h)), one a a feature, U to unit length.

    Args:
        rate: a at the start.
    """

    def __init__(self, branch: nn.Module, width: int, rate: float, dropout: float) -> None:
        super().__init__()
        self.branch, self.unit = branch, Unit()
        self.rate = Gain(rate, (width,), stored=1 / (rate * math.sqrt(width)))
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, h: Tensor) -> Tensor:
        proposed = self.unit(self.dropout(self.branch(h)))
        return self.unit(h + self.rate.value.abs() * (proposed - h))


@dataclass(frozen=True, kw_only=True)
class NGPT(Placement):
    """h -> U(h + a (U(f(h)) - h)) with U to unit length, one learned a a feature; the weights' rows of unit length too.

    Queries and keys of a head are brought to unit length and multiplied by a learned number a feature (from 1), their
    products by sqrt(C / heads); what enters the feed-forward's nonlinearity is multiplied by one (from sqrt(C)), the
    outputs by one each (from 1). All these are stored so that Adam moves them at the pace of the paper. Every weight
    of a branch, the embedding of tokens and the output layer have unit length along the stream's dimension, from the
    start and after every update. The scheme normalizes nothing itself: `norm=none`. To be trained without weight decay.

    Args:
        rate: a at the start.

    Initialization: weights as drawn, then of unit length.
    Source: Loshchilov et al. 2024, arXiv:2410.01131; NVIDIA/ngpt. Differs: the number of queries and keys
    is applied before rotary positions, there behind them; tied output layers and learned positions, which the paper has
    not, are possible.
    """

    rate: float = 0.05

    def embedding(self, norm: Norm, width: int) -> nn.Module:
        return Unit()

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        return Interpolated(branch, site.width, self.rate, site.dropout)

    def heads(self, norm: Norm, heads: int, width: int) -> HeadNorms:
        query = nn.Sequential(Unit(), Gain(1.0, (heads, 1, width), stored=1 / math.sqrt(heads * width)))
        return HeadNorms(query, Borrowed(query), nn.Identity(), scale=math.sqrt(width))

    def entering(self, num_features: int, width: int) -> nn.Module:
        return Gain(math.sqrt(width), (num_features,), stored=1 / math.sqrt(width))

    def outputs(self, num_outputs: int, width: int) -> nn.Module:
        return Gain(1.0, (num_outputs,), stored=1 / math.sqrt(width))

    def initialize(self, model: nn.Module) -> None:
        self.after_update(model)

    @torch.no_grad()
    def after_update(self, model: Any) -> None:
        for attention, feed_forward in layers_of(model):
            for layer in (attention.qkv, feed_forward.expand):
                set_weight(layer, F.normalize(layer.weight, dim=1))
            for layer in (attention.output, feed_forward.output):
                set_weight(layer, F.normalize(layer.weight, dim=0))
        for table in model.tables():
            table.copy_(F.normalize(table, dim=-1))
