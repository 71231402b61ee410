"""He's initialization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from normexp.models.init.base import Init


@dataclass(frozen=True, kw_only=True)
class He(Init):
    """Weights N(0, 2 / ((1 + slope^2) fan)); bias 0. Made for ReLU and leaky ReLU; also called Kaiming's.

    Args:
        mode: `fan_in` keeps the variance of activations, `fan_out` that of gradients.
        slope: of a leaky ReLU for negative inputs; 0 is ReLU.

    Source: He, Zhang, Ren & Sun 2015, arXiv:1502.01852.
    """

    mode: Literal["fan_in", "fan_out"] = "fan_in"
    slope: float = 0.0

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        return nn.init.kaiming_normal_(empty, self.slope, self.mode, "leaky_relu", generator=source)
