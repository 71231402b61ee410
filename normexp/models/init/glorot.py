"""Glorot's initialization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.models.init.base import Init


@dataclass(frozen=True, kw_only=True)
class Glorot(Init):
    """Weights uniform in (-b, b) with b = gain sqrt(6 / (fan_in + fan_out)); bias 0. Also called Xavier's.

    Args:
        gain: multiplies the weights; 1 in the paper.

    Source: Glorot & Bengio 2010.
    """

    gain: float = 1.0

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return nn.init.xavier_uniform_(empty, self.gain, generator=source)
