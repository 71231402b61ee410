"""Root mean square normalization (Zhang & Sennrich 2019, equation 4), over all of a sample."""

import numpy as np
from reference import Array, NoNorm


class Formula(NoNorm):
    def normalize(self, x: Array) -> Array:
        squares = (x**2).mean(axis=tuple(range(1, x.ndim)), keepdims=True)
        return x / np.sqrt(squares + self.options["eps"])
