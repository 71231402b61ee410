"""EvoNorm-S0 (Liu, Brock, Simonyan & Le 2020, table 1)."""

import numpy as np
from reference import Array, NoNorm, per_channel


class Formula(NoNorm):
    parameters = {"v": np.ones(1)}

    def normalize(self, x: Array) -> Array:
        groups = max(g for g in range(1, self.options["num_groups"] + 1) if x.shape[1] % g == 0)
        split = x.reshape(x.shape[0], groups, -1)
        var = ((split - split.mean(axis=2, keepdims=True)) ** 2).mean(axis=2, keepdims=True)
        swish = x / (1 + np.exp(-per_channel(self.parameters["v"], x) * x))
        return (swish.reshape(split.shape) / np.sqrt(var + self.options["eps"])).reshape(x.shape)
