"""Filter response normalization with its thresholded linear unit (Singh & Krishnan 2020)."""

import numpy as np
from reference import Array, NoNorm, per_channel


class Formula(NoNorm):
    parameters = {"threshold": np.zeros(1)}

    def train(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        eps = self.options["eps"] + np.sqrt(self.parameters.get("eps_learned", np.zeros(())) ** 2)
        nu2 = (x**2).mean(axis=tuple(range(2, x.ndim)), keepdims=True)
        z = self.affine(x / np.sqrt(nu2 + eps), weight, bias)
        if "threshold" not in self.parameters:
            return z
        tau = np.broadcast_to(per_channel(self.parameters["threshold"], x), z.shape)
        return np.where(z.real > tau.real, z, tau)
