"""Shapes and memory layouts of (N, C, *) tensors."""

from __future__ import annotations

import math

from torch import Tensor


def num_positions(x: Tensor) -> int:
    """Return how many values x: (N, C, *) holds per sample and channel; 1 for (N, C), whatever N is.

    Raises: ValueError for maps of no position, of which every statistic would be NaN.
    """
    count = math.prod(x.shape[2:])
    if count == 0:
        raise ValueError(f"maps of no position have no statistics, input has shape {tuple(x.shape)}")
    return count


def is_channels_last(x: Tensor) -> bool:
    """Tell whether the channels of x: (N, C, *) vary fastest in memory, and the positions do not."""
    return x.dim() > 2 and not x.is_contiguous() and x.movedim(1, -1).is_contiguous()


def like(y: Tensor, x: Tensor) -> Tensor:
    """Return y in the channels-last layout of x."""
    return y.movedim(1, -1).contiguous().movedim(-1, 1)
