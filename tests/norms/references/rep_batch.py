"""Batch normalization plus alpha times its input."""

import numpy as np
from reference import Array, Batch

INVARIANCES = "no no no no no no"  # alpha x sees every change


class Formula(Batch):
    parameters = {"alpha": np.array(1.0)}

    def train(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        return super().train(x, weight, bias) + self.parameters["alpha"] * x

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        return super().evaluate(x, weight, bias) + self.parameters["alpha"] * x
