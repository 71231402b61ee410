"""Handwritten digits that travel inside scikit-learn: the data set that needs no network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from normexp.data.base import Data, Dataset, Split, balanced, empty_like


@dataclass(frozen=True, kw_only=True)
class Digits(Dataset):
    """1,797 images of 8 x 8 pixels, 10 classes; a fixed class-balanced test split is set apart.

    Args:
        test: number of examples in the test split.

    Source: Alpaydin & Kaynak 1998, UCI "Optical Recognition of Handwritten Digits" (its test part).
    """

    test: int = 360

    def read(self, seed: int) -> Data:
        images, labels = _load()
        whole = Split(images, labels)
        chosen = balanced(whole, self.test, "classification", seed=0)
        train = whole.take(np.setdiff1d(np.arange(len(whole)), chosen))
        return Data(
            train,
            empty_like(train),
            whole.take(chosen),
            task="classification",
            classes=tuple("0123456789"),
        )


def _load() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    grey = digits.images * (255 / 16)  # stored as counts 0..16
    return np.rint(grey).astype(np.uint8)[..., None], digits.target.astype(np.int64)
