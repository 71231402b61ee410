"""Input normalization: fitted on the training split alone, applied to every split (the lecture's "important").

`fit_on=all` fits on all splits together instead: a mistake, offered so that its effect can be measured.

Pixels count as value / 255. A fit returns a `Transform`, either one multiply-add (`Affine`, cheap enough to
run on every batch) or a full matrix (`Whiten`, applied once to the whole split).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from normexp.data.base import Array
from normexp.errors import UserError

_CHUNK, _VALUES = 4096, 2**22  # examples, and values, converted to float64 at once: bounds the memory of a fit


@dataclass(frozen=True)
class Affine:
    """x * scale + shift, with one scale and shift per channel (C,), per feature (x.shape[1:]), or for all ()."""

    scale: Array
    shift: Array

    def apply(self, x: Array) -> Array:
        kind = precision(x)
        return (x.astype(kind) * self.scale.astype(kind) + self.shift.astype(kind)).astype(np.float32)


@dataclass(frozen=True)
class Standardized(Affine):
    """What gives every channel or feature the deviation 1, but for an eps, with the deviation that it had.

    Args:
        std: as scale; 0 where all values are equal, as the mean of equal numbers is rounded, and their deviation not 0.
    """

    std: Array


@dataclass(frozen=True)
class Whiten:
    """(flatten(x) * unit - mean) @ matrix, in the shape of x."""

    unit: float
    mean: Array
    matrix: Array

    def apply(self, x: Array) -> Array:
        kind = precision(x)
        flat = x.reshape(len(x), -1).astype(kind) * kind(self.unit) - self.mean.astype(kind)
        return (flat @ self.matrix.astype(kind)).reshape(x.shape).astype(np.float32)


@dataclass(frozen=True)
class Threshold:
    """1 where x * unit > threshold, else 0."""

    unit: float
    threshold: float

    def apply(self, x: Array) -> Array:
        kind = precision(x)
        return (x.astype(kind) * kind(self.unit) > self.threshold).astype(np.float32)


@dataclass(frozen=True)
class PerExample:
    """(x - mean) / max(std, 1/sqrt(n)), with the moments of the example's own n stored values."""

    def apply(self, x: Array) -> Array:
        flat = x.reshape(len(x), -1).astype(precision(x))  # a copy, changed in place: all images at once are many
        flat -= flat.mean(1, keepdims=True)
        flat /= np.maximum(flat.std(1, keepdims=True), 1 / np.sqrt(max(1, flat.shape[1])))
        return flat.reshape(x.shape).astype(np.float32, copy=False)


Transform = Affine | Whiten | Threshold | PerExample


class InputNorm(Protocol):
    """An option of the group `inputs`."""

    def fit(self, x: Array) -> Transform:
        """Fit on x, uint8 (N, H, W, C) or float (N, D): the training split's, but for `fit_on=all`."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """An option that takes statistics of the data.

    Args:
        fit_on: `train`, the training split; `all`, training, validation and test split together, which lets the
            test split leak into training (Ferreira 2024, lecture L12, section 2, "important").
    """

    fit_on: str = "train"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Leave the inputs alone."""

    def fit(self, x: Array) -> Transform:
        return Affine(np.asarray(unit(x)), np.asarray(0.0))


@dataclass(frozen=True, kw_only=True)
class Center(Fitted):
    """x - mean, per channel or per feature.

    Source: LeCun, Bottou, Orr & Mueller 1998, "Efficient BackProp", section 4.3.
    """

    per: str = "channel"

    def fit(self, x: Array) -> Transform:
        mean, _ = moments(x, self.per)
        return Affine(np.full_like(mean, unit(x)), -mean)


@dataclass(frozen=True, kw_only=True)
class Standardize(Fitted):
    """(x - mean) / (std + eps) with the biased standard deviation; a constant feature is only centered.

    Source: Ferreira 2024, lecture L12, section 2 (its code adds eps to the standard deviation, as here).
    Differs: the lecture divides a constant feature by eps, which blows up the smallest deviation at test time.
    """

    per: str = "channel"
    eps: float = 1e-8

    def fit(self, x: Array) -> Transform:
        mean, variance = moments(x, self.per)
        std = np.where(np.sqrt(variance) > 1e-12 * np.abs(mean), np.sqrt(variance), 0)
        scale = 1 / np.where(std > 0, std + self.eps, 1)
        return Standardized(scale * unit(x), -mean * scale, std)


@dataclass(frozen=True, kw_only=True)
class MinMax(Fitted):
    """Map [min, max] to [low, high]; a constant feature goes to low."""

    per: str = "channel"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"inputs.low={self.low} must be below inputs.high={self.high}")

    def fit(self, x: Array) -> Transform:
        axes = _axes(x, self.per)
        low, high = x.min(axes).astype(np.float64), x.max(axes).astype(np.float64)
        scale = (self.high - self.low) / np.where(high > low, high - low, 1)
        return Affine(scale, self.low - low * scale)


@dataclass(frozen=True, kw_only=True)
class Binarize:
    """1 where a value exceeds the threshold (pixels count from 0 to 1), else 0.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, section 4.1, "28x28 binary images". Differs: they do not state
    the rule; one half is an assumption.
    """

    threshold: float = 0.5

    def fit(self, x: Array) -> Transform:
        return Threshold(unit(x), self.threshold)


@dataclass(frozen=True, kw_only=True)
class PerImage:
    """Every image by itself: its mean subtracted, divided by its standard deviation, over pixels and channels.

    The deviation is at least 1/sqrt(n) of a pixel's 255, for images of one colour, as in TensorFlow's
    `per_image_standardization`.

    Source: Zhang et al. 2017, arXiv:1611.03530 ("per-image whitening").
    """

    def fit(self, x: Array) -> Transform:
        if x.ndim != 4:
            raise UserError(f"inputs=per_image: needs images (H, W, C), an example has shape {x.shape[1:]}")
        return PerExample()


@dataclass(frozen=True, kw_only=True)
class ZCA(Fitted):
    """U diag(1/sqrt(S + eps)) U^T (x - mean), with covariance U S U^T over n: the whitening nearest to x.

    Args:
        eps: added to the eigenvalues, in units of the squared input (pixels in [0, 1]).

    Source: Krizhevsky 2009; covariance over n and eps inside the root as in Salimans & Kingma's code
    (which scales pixels by 1/128: its eps of 1e-5 is 2.5e-6 here).
    """

    eps: float = 1e-5

    def fit(self, x: Array) -> Transform:
        mean, _ = moments(x, "feature")
        mean = mean.reshape(-1)
        with threadpool_limits(1, "blas"):  # rounding would depend on the number of cores
            covariance = sum(flat.T @ flat for flat in _flat_chunks(x, mean)) / len(x)
            values, vectors = np.linalg.eigh(covariance)
            matrix = (vectors / np.sqrt(np.maximum(values, 0) + self.eps)) @ vectors.T
        return Whiten(unit(x), mean, matrix)


def precision(x: Array) -> type[np.floating[Any]]:
    """Return what is computed in: float64 where x may have digits that float32 would lose, else float32."""
    return np.float32 if np.can_cast(x.dtype, np.float32) else np.float64


def unit(x: Array) -> float:
    """Return what one stored unit is worth: 1/255 for pixels, 1 for a table."""
    return 1 / 255 if x.dtype == np.uint8 else 1.0


def moments(x: Array, per: str) -> tuple[Array, Array]:
    """Return mean and biased variance in float64, per channel (C,) or per feature (x.shape[1:]), in two passes."""
    axes = _axes(x, per)
    count = math.prod(x.shape[axis] for axis in axes)
    mean = sum(chunk.sum(axes) for chunk in _chunks(x)) / count
    variance = sum(((chunk - mean) ** 2).sum(axes) for chunk in _chunks(x)) / count
    return np.asarray(mean), np.asarray(variance)


def _axes(x: Array, per: str) -> tuple[int, ...]:
    """Return the axes to reduce: all but the last (channels or columns), or the examples only."""
    return tuple(range(x.ndim - 1)) if per == "channel" else (0,)


def _chunks(x: Array) -> Iterator[Array]:
    size = min(_CHUNK, max(1, _VALUES // max(1, x[:1].size)))
    for start in range(0, len(x), size):
        yield x[start : start + size].astype(np.float64) * unit(x)


def _flat_chunks(x: Array, mean: Array) -> Iterator[Array]:
    for chunk in _chunks(x):
        yield chunk.reshape(len(chunk), -1) - mean
