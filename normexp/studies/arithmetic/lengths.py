"""How long tensors are: several together, or per entry."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch import Tensor


def length_together(tensors: Iterable[Tensor]) -> float:
    """Return the root of the sum of the squares of all numbers in some tensors."""
    return math.hypot(*(float(each.norm()) for each in tensors))


def root_mean_square(x: Tensor) -> float:
    return float(x.detach().square().mean().sqrt())
