"""Sequences of different lengths in one array: padded with zeros at the end, and a mask that tells where."""

from __future__ import annotations

import numpy as np

from normexp.data.base import Array
from normexp.errors import UserError

Reach = tuple[int, int]  # the shortest and the longest length that may be drawn


def draw_lengths(rng: np.random.Generator, count: int, shortest: int, longest: int) -> Array:
    """Return lengths, int64 (count,), uniform from `shortest` to `longest`, both included."""
    return rng.integers(shortest, longest, count, endpoint=True)


def reaches(key: str, longest: int, shortest: int | None, tested: int | None) -> tuple[Reach, Reach]:
    """Return between what the lengths of the training sequences lie, and those of the test sequences.

    Args:
        key: what the data set calls its longest length; `min_KEY` and `test_KEY` are the others.
        shortest: None makes all as long as the longest.
        tested: the length of all test sequences; None draws them as those for training.

    Raises: UserError where the shortest is above the longest.
    """
    shortest = longest if shortest is None else shortest
    if shortest > longest:
        raise UserError(f"dataset.min_{key}={shortest}: must be at most dataset.{key}={longest}")
    return (shortest, longest), (shortest, longest) if tested is None else (tested, tested)


def inside(lengths: Array, steps: int) -> Array:
    """Return where sequences of `lengths` (N,) go on, bool (N, steps)."""
    return np.arange(steps) < lengths[:, None]


def masked(x: Array, lengths: Array) -> Array:
    """Pad and mark: (N, T, D) -> (N, T, D + 1).

    From a sequence's length on all features are 0. The last feature is the mask: 1 inside, 0 in the padding.
    """
    mask = inside(lengths, x.shape[1])[..., None].astype(x.dtype)
    return np.concatenate([x * mask, mask], axis=2)
