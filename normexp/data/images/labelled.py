"""What data sets of labelled images share: their middle cut out, some of their labels drawn anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from normexp.data.base import Data, Dataset, Split
from normexp.errors import UserError


@dataclass(frozen=True, kw_only=True)
class LabelledImages(Dataset):
    """Images of classes.

    Args:
        center_crop: cut the middle of so many pixels out of every image of every split; None keeps the whole.
        label_noise: probability with which the label of a training example is drawn anew, every class being equally
            likely; 1 makes all labels random. Which ones, and their new labels, depend on `split_seed`; validation and
            test split keep theirs.

    Source: Zhang et al. 2017, arXiv:1611.03530 (random and partially corrupted labels).
    """

    center_crop: int | None = None
    label_noise: float = 0.0

    def load(self, seed: int) -> Data:
        """Read, cut, hold out the validation split, take the subset, draw labels anew. Raises as `Dataset.load`."""
        data = super().load(seed)
        return replace(data, train=self._with_noise(data)) if self.label_noise else data

    def _read(self, seed: int) -> Data:
        data = super()._read(seed)
        return data if self.center_crop is None else data.map(self._center)

    def _center(self, split: Split) -> Split:
        size, shape = self.center_crop, split.x.shape[1:]
        assert size is not None
        if len(shape) != 3 or size > min(shape[:2]):
            raise UserError(f"dataset.center_crop={size}: needs images of so many pixels, an example has shape {shape}")
        top, left = (shape[0] - size) // 2, (shape[1] - size) // 2
        return Split(np.ascontiguousarray(split.x[:, top : top + size, left : left + size]), split.y)

    def _with_noise(self, data: Data) -> Split:
        draws = np.random.default_rng([self.split_seed, len(data.train), 2])
        drawn = draws.random(len(data.train)) < self.label_noise
        anew = draws.integers(len(data.classes), size=len(data.train))
        return Split(data.train.x, np.where(drawn, anew, data.train.y))
