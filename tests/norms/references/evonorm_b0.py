"""EvoNorm-B0 (Liu, Brock, Simonyan & Le 2020, table 1)."""

import numpy as np
from reference import Array, Batch, per_channel


class Formula(Batch):
    running = {"running_var": np.ones(1)}
    parameters = {"v": np.ones(1)}

    def divided(self, x: Array, batch: Array) -> Array:
        positions = tuple(range(2, x.ndim))
        instance = variance(x, positions)
        eps = self.options["eps"]
        first = np.broadcast_to(np.sqrt(batch + eps), x.shape)
        second = per_channel(self.parameters["v"], x) * x + np.sqrt(instance + eps)
        return x / np.where(first.real > second.real, first, second)

    def normalize(self, x: Array) -> Array:
        return self.divided(x, variance(x, (0, *range(2, x.ndim))))

    def observe(self, x: Array) -> None:
        self.move("running_var", np.moveaxis(x, 1, 0).reshape(x.shape[1], -1).var(axis=1, ddof=1))

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        return self.affine(self.divided(x, per_channel(self.running["running_var"], x)), weight, bias)


def variance(x: Array, axes: tuple[int, ...]) -> Array:
    return ((x - x.mean(axis=axes, keepdims=True)) ** 2).mean(axis=axes, keepdims=True)
