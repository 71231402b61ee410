"""DyISRU: an inverse square root unit with a learned width."""

import numpy as np
from reference import Array, NoNorm

INVARIANCES = "no no no no no no"  # a / sqrt(alpha + a^2) sees every change


class Formula(NoNorm):
    learned = ("alpha",)

    def normalize(self, x: Array) -> Array:
        return x / np.sqrt(self.parameters["alpha"] + x * x)
