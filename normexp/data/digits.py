"""Handwritten digits that travel inside scikit-learn: the data set that needs no network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from normexp.data.base import Data, balanced, empty_like
from normexp.data.files.cache import Content, UnwritableCache, cached
from normexp.data.images.labelled import LabelledImages
from normexp.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Digits(LabelledImages):
    """1,797 images, uint8 (N, 8, 8, 1), 10 classes; a fixed class-balanced test split is set apart.

    Args:
        test: number of examples in the test split.

    Source: Alpaydin & Kaynak 1998, UCI "Optical Recognition of Handwritten Digits" (its test part).
    Licence: CC BY 4.0.
    """

    drawn = False
    test: int = 360
    validation: float = 180

    def read(self, seed: int) -> Data:
        content = _load()
        whole = content.split("train")
        if self.test >= len(whole):
            raise UserError(f"dataset.test={self.test}: there are only {len(whole)} examples in all")
        chosen = balanced(whole, self.test, "classification", seed=0)
        train = whole.take(np.setdiff1d(np.arange(len(whole)), chosen))
        return Data(train, empty_like(train), whole.take(chosen), task="classification", classes=content.classes)


def _load() -> Content:
    """Open the cached copy: importing scikit-learn takes longer than training on it for a while."""
    try:
        return cached("digits", "scikit-learn", _build)
    except UnwritableCache:
        return _build()


def _build() -> Content:
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8)[..., None]  # stored as counts 0..16
    labels = digits.target.astype(np.int64)
    return Content({"train_x": images, "train_y": labels}, tuple("0123456789"), source="scikit-learn")
