"""What every data set returns: its splits, and what is known of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Split:
    """Examples in memory (or memory-mapped).

    Shapes: x is uint8 (N, H, W, C) for images or float32 (N, D) for tables (float64 until the inputs are normalized
    where float32 would lose digits);
    y is int64 (N,) for classes, float32 (N, T) for regression targets, or int64 (N, T) for the tokens of a text.
    """

    x: Array
    y: Array

    def __len__(self) -> int:
        return len(self.x)

    def take(self, index: Array) -> Split:
        """Return the examples at `index`, in that order."""
        return Split(self.x[index], self.y[index])


@dataclass(frozen=True)
class Data:
    """A data set ready for training.

    Args:
        classes: class names, in the order of the labels; empty for regression.
        note: what every table made from this data must say (for example "CIFAR-10, JPEG copy"); may be empty.
        target_scale: standard deviation by which regression targets were divided (1 where they were not).
        bytes_per_token: of a text, in UTF-8, on average.
        drawn_test: whether the test split was drawn from the training examples: shares are then of both together.
    """

    train: Split
    validation: Split
    test: Split
    task: Literal["classification", "regression", "language"]
    classes: tuple[str, ...] = ()
    note: str = ""
    target_scale: float = 1.0
    bytes_per_token: float = 1.0
    drawn_test: bool = False

    @property
    def splits(self) -> tuple[Split, Split, Split]:
        return self.train, self.validation, self.test

    @property
    def num_outputs(self) -> int:
        return int(self.train.y.shape[1]) if self.task == "regression" else len(self.classes)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """(C, H, W) of an image as a network sees it, or (D,) of a table's row."""
        shape = self.train.x.shape[1:]
        return (shape[2], shape[0], shape[1]) if len(shape) == 3 else tuple(shape)

    @property
    def positions(self) -> int:
        """Number of positions of an example that a network computes: the tokens of a text, otherwise 1."""
        return int(self.train.y.shape[1]) if self.task == "language" else 1

    def map(self, change: Callable[[Split], Split]) -> Data:
        """Return the data with every split changed."""
        train, validation, test = map(change, self.splits)
        return replace(self, train=train, validation=validation, test=test)

    def noting(self, remark: str) -> Data:
        """Return the data with one more remark, if it says anything."""
        return replace(self, note="; ".join(filter(None, (self.note, remark))))

    @cached_property
    def fingerprint(self) -> str:
        """Return the sha256 of all splits, in order: what the run record states about its data."""
        digest = hashlib.sha256()
        for split in self.splits:
            for array in (split.x, split.y):
                digest.update(f"{array.dtype}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()
