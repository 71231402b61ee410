"""Derf: the error function with a learned slope and shift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from reference import Array, NoNorm
from scipy.special import erf

INVARIANCES = "no no no no no no"  # erf(alpha a + shift) sees every change


class Formula(NoNorm):
    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.parameters = {"alpha": np.array(options["alpha"]), "shift": np.array(options["shift"])}

    def normalize(self, x: Array) -> Array:
        return erf(self.parameters["alpha"] * x + self.parameters["shift"])
