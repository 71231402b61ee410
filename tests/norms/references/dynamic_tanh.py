"""Dynamic tanh (Zhu, Chen, He, LeCun & Liu 2025)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from reference import Array, NoNorm


class Formula(NoNorm):
    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.parameters = {"alpha": np.array(options["alpha"])}

    def normalize(self, x: Array) -> Array:
        return np.tanh(self.parameters["alpha"] * x)
