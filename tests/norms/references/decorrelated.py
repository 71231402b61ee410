"""Decorrelated batch normalization (Huang et al. 2018): ZCA whitening of groups of channels.

The whitening matrix is the inverse root of the covariance, found here by Newton's iteration for the matrix sign
in its product form (Denman & Beavers 1976), which is analytic, unlike an eigendecomposition.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from reference import Array, Batch, per_channel


def inverse_root(matrix: Array) -> Array:
    root, inverse = matrix, np.broadcast_to(np.eye(matrix.shape[-1]), matrix.shape).astype(matrix.dtype)
    for _ in range(40):
        root, inverse = (root + np.linalg.inv(inverse)) / 2, (inverse + np.linalg.inv(root)) / 2
    return inverse


class Formula(Batch):
    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.running = {"running_mean": np.zeros(1), "running_matrix": np.eye(options["group_size"])}

    def grouped(self, x: Array) -> Array:
        """Return (C / size, size, values)."""
        return np.moveaxis(x, 1, 0).reshape(-1, self.options["group_size"], x.size // x.shape[1])

    def matrix(self, x: Array) -> Array:
        rows = self.grouped(x - x.mean(axis=(0, *range(2, x.ndim)), keepdims=True))
        covariance = rows @ rows.swapaxes(1, 2) / rows.shape[2]
        return inverse_root(covariance + self.options["eps"] * np.eye(rows.shape[1]))

    def multiply(self, matrix: Array, x: Array) -> Array:
        mixed = matrix @ self.grouped(x)
        return np.moveaxis(mixed.reshape(x.shape[1], x.shape[0], *x.shape[2:]), 0, 1)

    def normalize(self, x: Array) -> Array:
        return self.multiply(self.matrix(x), x - x.mean(axis=(0, *range(2, x.ndim)), keepdims=True))

    def observe(self, x: Array) -> None:
        self.move("running_mean", x.mean(axis=(0, *range(2, x.ndim))))
        self.move("running_matrix", self.matrix(x))

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        centred = x - per_channel(self.running["running_mean"], x)
        return self.affine(self.multiply(self.running["running_matrix"], centred), weight, bias)
