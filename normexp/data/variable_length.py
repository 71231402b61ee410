"""Sequences of different lengths in one array: padded with zeros at the end, and a mask that tells where."""

from __future__ import annotations

import numpy as np

from normexp.data.base import Array


def draw_lengths(rng: np.random.Generator, count: int, shortest: int, longest: int) -> Array:
    """Return lengths, int64 (count,), uniform from `shortest` to `longest`, both included."""
    return rng.integers(shortest, longest, count, endpoint=True)


def inside(lengths: Array, steps: int) -> Array:
    """Return where sequences of `lengths` (N,) go on, bool (N, steps)."""
    return np.arange(steps) < lengths[:, None]


def masked(x: Array, lengths: Array) -> Array:
    """Pad and mark: (N, T, D) -> (N, T, D + 1).

    From a sequence's length on all features are 0. The last feature is the mask: 1 inside, 0 in the padding.
    """
    mask = inside(lengths, x.shape[1])[..., None].astype(x.dtype)
    return np.concatenate([x * mask, mask], axis=2)
