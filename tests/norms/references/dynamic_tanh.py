"""Dynamic tanh (Zhu, Chen, He, LeCun & Liu 2025)."""

import numpy as np
from reference import Array, NoNorm


class Formula(NoNorm):
    learned = ("alpha",)

    def normalize(self, x: Array) -> Array:
        return np.tanh(self.parameters["alpha"] * x)
