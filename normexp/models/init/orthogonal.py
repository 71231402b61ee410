"""Orthogonal initial weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.models.init.base import Init


@dataclass(frozen=True, kw_only=True)
class Orthogonal(Init):
    """The weight matrix (output channels, all that enters one) with orthonormal rows or columns; bias 0.

    Args:
        gain: multiplies the weights.

    Source: Saxe, McClelland & Ganguli 2014, arXiv:1312.6120.
    """

    gain: float = 1.0

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return nn.init.orthogonal_(empty, self.gain, generator=source)
