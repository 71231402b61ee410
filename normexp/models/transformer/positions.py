"""Rotary positions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BASE = 10_000.0  # as in the paper


class Rotary(nn.Module):
    """Turn the pair (x_i, x_(i + D/2)) of a head's features at position t by the angle t BASE^(-2 i / D).

    Args:
        width: D, features of a head, even.
        context: number of positions.

    Shape: (*, T, D) -> (*, T, D), T at most `context`.
    Source: Su et al. 2021, arXiv:2104.09864. Differs: pairs half a head apart, as in most code since;
    the paper takes neighbours, which is the same up to the order of the features.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, width: int, context: int) -> None:
        super().__init__()
        rates = BASE ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        angles = torch.outer(torch.arange(context, dtype=torch.float64), rates)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        cos, sin = self.cos[: x.shape[-2]].to(x.dtype), self.sin[: x.shape[-2]].to(x.dtype)
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
