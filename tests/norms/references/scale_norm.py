"""ScaleNorm (Nguyen & Salazar 2019): every sample has the length of the gain."""

import numpy as np
from reference import Array, NoNorm

INVARIANCES = "yes no no yes no yes"  # a / ||a||: the scale of all of a sample goes, nothing else


class Formula(NoNorm):
    parameters = {"gain": np.array(8.0)}  # sqrt(64 channels)

    def normalize(self, x: Array) -> Array:
        length = np.sqrt((x**2).sum(axis=tuple(range(1, x.ndim)), keepdims=True) + self.options["eps"])
        return self.parameters["gain"] * x / length
