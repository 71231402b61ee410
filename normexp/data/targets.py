"""Targets of a regression: standardized, or rounded to float32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from normexp.data.contract import SPLITS
from normexp.data.splits import Data
from normexp.errors import UserError


def in_float32(data: Data) -> Data:
    """Round targets that may have more digits, and say so where one is lost."""
    if data.train.y.dtype != np.float64:
        return data
    rounded = data.map(lambda split: replace(split, y=split.y.astype(np.float32)))
    said = "targets rounded to float32, which loses digits (dataset.standardize_target=true keeps them)"
    same = all(np.array_equal(getattr(data, name).y, getattr(rounded, name).y) for name in SPLITS)
    return rounded if same else rounded.noting(said)


def standardize_target(data: Data) -> Data:
    """Shift and scale all targets by the training split's mean and biased standard deviation."""
    if data.task != "regression":
        raise UserError("dataset.standardize_target=true: only targets of a regression can be standardized")
    if data.num_outputs > 1:
        raise UserError("dataset.standardize_target=true: an error of several targets has no unit to be given in")
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = data.train.y.mean(axis=0), data.train.y.std(axis=0)
        square = std.astype(np.float32) ** 2
    if not np.isfinite(square).all():
        raise UserError("dataset.standardize_target=true: the targets are too large for float32; scale them down")
    scale = np.where(std > 0, std, 1).astype(np.float32)
    scaled = data.map(lambda split: replace(split, y=((split.y - mean) / scale).astype(np.float32)))
    return replace(scaled, target_scale=float(scale[0]))
