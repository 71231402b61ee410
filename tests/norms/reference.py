"""Every scheme's formula in float64 NumPy, written from the papers; nothing here knows torch.

The formulae are analytic (no abs, no max), so they also take complex numbers, and `gradient` is exact by the
complex step: f(x + ih) = f(x) + ih f'(x) + O(h^2) has no difference of close numbers, so h may be tiny.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def gradient(function: Callable[[Array], Array], point: Array, cotangent: Array, step: float = 1e-30) -> Array:
    """Return the gradient of sum(cotangent * function(x)) at x = point."""
    result = np.empty(point.shape)
    for index in np.ndindex(point.shape):
        moved = point.astype(complex)
        moved[index] += 1j * step
        result[index] = (function(moved) * cotangent).sum().imag / step
    return result


def per_channel(values: Array, x: Array) -> Array:
    return values.reshape(1, -1, *[1] * (x.ndim - 2))


def standardize(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    mean = x.mean(axis=axes, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(var + eps)


class NoNorm:
    """y = x; also the base of the others: without running state, evaluation is training."""

    running: Mapping[str, Array] = {}  # as they start
    parameters: Mapping[str, Array] = {}  # as they start: those beside weight and bias
    learned: tuple[str, ...] = ()  # options that are parameters, too

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options, self.running = options, dict(self.running)
        self.parameters = {**self.parameters, **{name: np.array(options[name]) for name in self.learned}}

    def normalize(self, x: Array) -> Array:
        return x

    def train(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        return self.affine(self.normalize(x), weight, bias)

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        return self.train(x, weight, bias)

    def train_with(self, key: str, value: Array, x: Array, weight: Array | None, bias: Array | None) -> Array:
        """Return `train` with another value of one parameter."""
        kept, self.parameters = self.parameters, {**self.parameters, key: value}
        try:
            return self.train(x, weight, bias)
        finally:
            self.parameters = kept

    def observe(self, x: Array) -> None:
        """Move the running state by one training batch."""

    @staticmethod
    def affine(y: Array, weight: Array | None, bias: Array | None) -> Array:
        y = y if weight is None else y * per_channel(weight, y)
        return y if bias is None else y + per_channel(bias, y)


class Batch(NoNorm):
    running = {"running_mean": np.zeros(1), "running_var": np.ones(1)}

    def normalize(self, x: Array) -> Array:
        return standardize(x, (0, *range(2, x.ndim)), self.options["eps"])

    def observe(self, x: Array) -> None:
        columns = np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)
        self.move("running_mean", columns.mean(axis=1))
        self.move("running_var", columns.var(axis=1, ddof=1))

    def move(self, name: str, new: Array) -> None:
        momentum = self.options["momentum"]
        self.running[name] = (1 - momentum) * self.running[name] + momentum * new

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        centred = x - per_channel(self.running["running_mean"], x)
        return self.affine(
            centred / np.sqrt(per_channel(self.running["running_var"], x) + self.options["eps"]), weight, bias
        )


class MeanOnly(Batch):
    running = {"running_mean": np.zeros(1)}

    def normalize(self, x: Array) -> Array:
        return x - x.mean(axis=(0, *range(2, x.ndim)), keepdims=True)

    def observe(self, x: Array) -> None:
        self.move("running_mean", x.mean(axis=(0, *range(2, x.ndim))))

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        return self.affine(x - per_channel(self.running["running_mean"], x), weight, bias)


class Layer(NoNorm):
    def normalize(self, x: Array) -> Array:
        return standardize(x, tuple(range(1, x.ndim)), self.options["eps"])


class Instance(NoNorm):
    def normalize(self, x: Array) -> Array:
        return standardize(x, tuple(range(2, x.ndim)), self.options["eps"])


class Group(NoNorm):
    def normalize(self, x: Array) -> Array:
        groups = max(g for g in range(1, self.options["num_groups"] + 1) if x.shape[1] % g == 0)
        split = x.reshape(x.shape[0], groups, -1)
        return standardize(split, (2,), self.options["eps"]).reshape(x.shape)


def plain_weight(v: Array, g: Array) -> Array:
    return v


def weight_norm(v: Array, g: Array) -> Array:
    """w = g v / ||v||, one g and one norm per output unit."""
    length = np.sqrt((v**2).sum(axis=tuple(range(1, v.ndim)), keepdims=True))
    return g * v / length


def weight_standard(v: Array, g: Array) -> Array:
    """w = (v - mean) / (std + eps), the unbiased std of all that enters one output unit."""
    rows = v.reshape(len(v), -1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    std = np.sqrt((centred**2).sum(axis=1, keepdims=True) / (rows.shape[1] - 1))
    return (centred / (std + 1e-5)).reshape(v.shape)


def scaled_weight_standard(v: Array, g: Array) -> Array:
    """w = g (v - mean) / sqrt(n var), biased var; the bound 1e-4 on n var is not reached by these weights."""
    rows = v.reshape(len(v), -1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    return g * (centred / np.sqrt((centred**2).sum(axis=1, keepdims=True))).reshape(v.shape)


def spectral(v: Array, g: Array) -> Array:
    """w = v / (left . v right), with the leading singular vectors of v as constants."""
    rows = v.reshape(len(v), -1)
    left, _, right = np.linalg.svd(rows.real)
    return v / (left[:, 0] @ rows @ right[0])


ACTIVATIONS: dict[str, Callable[[Mapping[str, Any]], NoNorm]] = {
    "none": NoNorm,
    "batch": Batch,
    "layer": Layer,
    "instance": Instance,
    "group": Group,
    "weight": NoNorm,
    "mean_only": MeanOnly,
    "normprop": NoNorm,
    "scaled_weight_standard": NoNorm,
    "spectral": NoNorm,
    "spectral_penalty": NoNorm,
    "stack": NoNorm,
    "weight_standard": NoNorm,
    "weight_mean_only": lambda options: MeanOnly(options["activations"]),
}
WEIGHTS: dict[str, Callable[[Array, Array], Array]] = dict.fromkeys(ACTIVATIONS, plain_weight) | {
    "weight": weight_norm,
    "weight_mean_only": weight_norm,
    "normprop": weight_norm,
    "scaled_weight_standard": scaled_weight_standard,
    "spectral": spectral,
    "weight_standard": weight_standard,
}
