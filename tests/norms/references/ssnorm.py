"""SSNorm: root mean square normalization with one gain."""

import numpy as np
from reference import Array, NoNorm

INVARIANCES = "yes no no yes no yes"  # as rms


class Formula(NoNorm):
    parameters = {"gain": np.array(1.0)}

    def normalize(self, x: Array) -> Array:
        squares = (x**2).mean(axis=tuple(range(1, x.ndim)), keepdims=True)
        return self.parameters["gain"] * x / np.sqrt(squares + self.options["eps"])
