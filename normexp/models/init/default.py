"""PyTorch's default initialization."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from normexp.models.init.base import Init


@dataclass(frozen=True, kw_only=True)
class Default(Init):
    """Weight and bias uniform in (-1/sqrt(fan_in), 1/sqrt(fan_in)), as torch.nn.Linear and torch.nn.Conv do.

    Ready-made networks of torchvision keep their own initialization.

    Source: torch.nn; the bound is that of LeCun et al. 1998, "Efficient BackProp", over sqrt(3).
    """

    keeps_own: ClassVar[bool] = True

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return uniform(empty, empty[0].numel(), source)

    def bias(self, fan_in: int, empty: Tensor, source: torch.Generator) -> Tensor:
        return uniform(empty, fan_in, source)


def uniform(empty: Tensor, fan_in: int, source: torch.Generator) -> Tensor:
    bound = 1 / math.sqrt(fan_in)
    return empty.uniform_(-bound, bound, generator=source)
