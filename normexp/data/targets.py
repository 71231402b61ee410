"""Targets of a regression: standardized, or rounded to float32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from normexp.data.splits import Array, Data
from normexp.errors import UserError


def in_float32(data: Data) -> Data:
    """Round targets that may have more digits, and say so where one is lost."""
    if data.train.y.dtype != np.float64:
        return data
    rounded = data.map(lambda split: replace(split, y=split.y.astype(np.float32)))
    said = "targets rounded to float32, which loses digits (dataset.standardize_target=true keeps them)"
    same = all(np.array_equal(long.y, short.y) for long, short in zip(data.splits, rounded.splits, strict=True))
    return rounded if same else rounded.noting(said)


def standardize_target(data: Data) -> Data:
    """Shift and scale all targets by the training split's mean and biased standard deviation.

    Raises: UserError for classes, for several targets, and for numbers that float32 cannot hold.
    """
    if data.task != "regression":
        raise UserError("dataset.standardize_target=true: only targets of a regression can be standardized")
    if data.num_outputs > 1:
        raise UserError("dataset.standardize_target=true: an error of several targets has no unit to be given in")
    mean, std = _moments(data.train.y)
    with np.errstate(over="ignore", under="ignore"):
        square = std.astype(np.float32) ** 2
    if not np.isfinite(square).all():
        raise UserError("dataset.standardize_target=true: the targets are too large for float32; scale them down")
    if (std.astype(np.float32) < np.finfo(np.float32).tiny)[std > 0].any():
        raise UserError("dataset.standardize_target=true: the targets are too small for float32; scale them up")
    scale = np.where(std > 0, std, 1).astype(np.float32)
    scaled = data.map(lambda split: replace(split, y=((split.y - mean) / scale).astype(np.float32)))
    return replace(scaled, target_scale=float(scale[0]))


def _moments(y: Array) -> tuple[Array, Array]:
    """Return mean and biased standard deviation (T,), of y times a power of two whose squares float32 can hold.

    That changes no digit, and none of those that need no such scale.
    """
    _, power = np.frexp(np.abs(y).max())
    near_one = np.ldexp(y, -power)
    return np.ldexp(near_one.mean(axis=0), power), np.ldexp(near_one.std(axis=0), power)
