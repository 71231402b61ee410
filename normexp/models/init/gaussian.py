"""Normally distributed initial weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.models.init.base import Init


@dataclass(frozen=True, kw_only=True)
class Gaussian(Init):
    """Weights N(0, std^2), the same for every layer; bias 0.

    Args:
        std: 0.05 in Salimans & Kingma; "small" in Ioffe & Szegedy, section 4.1.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 3.
    """

    std: float = 0.05

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return empty.normal_(0.0, self.std, generator=source)
