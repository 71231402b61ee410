"""DyISRU: an inverse square root unit with a learned width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from reference import Array, NoNorm

INVARIANCES = "no no no no no no"  # a / sqrt(alpha + a^2) sees every change


class Formula(NoNorm):
    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.parameters = {"alpha": np.array(options["alpha"])}

    def normalize(self, x: Array) -> Array:
        return x / np.sqrt(self.parameters["alpha"] + x * x)
