"""MNIST read pixel by pixel, or row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from normexp.data.base import Array, Data, Split
from normexp.data.mnist import Mnist
from normexp.errors import UserError, unknown

ORDERS = ("rows", "permuted", "with_replacement")


@dataclass(frozen=True, kw_only=True)
class SequentialMnist(Mnist):
    """The digits as sequences, uint8: (N, side * side, 1) pixel by pixel, (N, side, side) row by row.

    Args:
        side: average the images down to this many pixels in height and width, a divisor of 28.
        order: of the pixels. `rows`: from left to right, row by row. `permuted`: one true permutation, drawn with
            `split_seed`, for all images. `with_replacement`: the pixels that the published code draws, of which
            some come several times and others never (501 of 784 come at all).
        row_wise: feed `side` pixels per time step instead of one.

    Source: Le, Jaitly & Hinton 2015, arXiv:1504.00941, section 4.2; Cooijmans et al. 2017, arXiv:1603.09025,
    section 5.1, whose text says "permuted" where the code draws with replacement. Averaging is ours.
    """

    side: int = 28
    order: str = "rows"
    row_wise: bool = False

    def read(self, seed: int) -> Data:
        if self.order not in ORDERS:
            raise unknown("dataset.order", self.order, ORDERS)
        data = super().read(seed)
        pixels = pixel_order(self.order, self.side**2, self.split_seed)
        train, validation, test = (
            Split(self._sequences(split.x, pixels), split.y) for split in (data.train, data.validation, data.test)
        )
        notes = (data.note, self._averaged(data.train.x.shape[1]), _repeated(pixels))
        return replace(data, train=train, validation=validation, test=test, note="; ".join(filter(None, notes)))

    def _sequences(self, images: Array, pixels: Array) -> Array:
        flat = averaged(images, self.side).reshape(len(images), self.side**2)
        steps = (self.side, self.side) if self.row_wise else (self.side**2, 1)
        return flat[:, pixels].reshape(len(images), *steps)

    def _averaged(self, full: int) -> str:
        return f"images averaged to {self.side} x {self.side}" if self.side < full else ""


def averaged(images: Array, side: int) -> Array:
    """Return uint8 (N, side, side), the rounded means of square blocks, of images (N, H, W, 1).

    Raises UserError where `side` does not divide height and width, or they differ.
    """
    count, height, width, _ = images.shape
    if height != width or height % side:
        divisors = ", ".join(str(number) for number in range(height, 0, -1) if height % number == 0)
        raise UserError(f"dataset.side={side}: must divide images of {width} x {height} pixels; allowed: {divisors}")
    block = height // side
    if block == 1:  # the sum below would take seconds
        return images[..., 0]
    total = images.reshape(count, side, block, side, block).sum((2, 4), dtype=np.uint32)
    return ((total + block**2 // 2) // block**2).astype(np.uint8)


def pixel_order(order: str, count: int, seed: int) -> Array:
    """Return which pixel comes at each of `count` steps, int64 (count,).

    Source of `with_replacement`: the first draw of the published code under its default seed, which is 1.
    """
    if order == "permuted":
        return np.random.default_rng([seed, crc32(b"pixel order")]).permutation(count)
    if order == "with_replacement":
        return np.random.RandomState(1).randint(0, count, count).astype(np.int64)
    return np.arange(count)


def _repeated(pixels: Array) -> str:
    seen = len(np.unique(pixels))
    return f"pixels drawn with replacement, {seen} of {len(pixels)} seen" if seen < len(pixels) else ""
