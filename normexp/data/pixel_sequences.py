"""Images read pixel by pixel, or row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from normexp.data.base import Array, Data, Dataset, Split
from normexp.data.digits import Digits
from normexp.data.mnist import Mnist
from normexp.data.streams import numpy_generator
from normexp.errors import UserError, unknown

ORDERS = ("rows", "permuted", "with_replacement")
if TYPE_CHECKING:
    _Images = Dataset
else:
    _Images = object  # the data set is the other base, whose own defaults must stand


@dataclass(frozen=True, kw_only=True)
class PixelSequences(_Images):
    """The images of another data set as sequences, uint8: (N, side * side, 1), or (N, side, side) row by row.

    Args:
        side: average the images down to this many pixels in height and width, a divisor of theirs.
        order: of the pixels. `rows`: from left to right, row by row. `permuted`: one true permutation, drawn with
            `split_seed`, for all images. `with_replacement`: the pixels that the published code draws, of which
            some come several times and others never (501 of MNIST's 784 come at all).
        row_wise: feed `side` pixels per time step instead of one.

    Source: Le, Jaitly & Hinton 2015, arXiv:1504.00941; Cooijmans et al. 2017, arXiv:1603.09025,
    section 5.1, whose text says "permuted" where the code draws with replacement. Averaging is ours.
    """

    side: int
    order: str = "rows"
    row_wise: bool = False

    def read(self, seed: int) -> Data:
        pixels = pixel_order(self.order, self.side**2, self.split_seed)
        return sequences(super().read(seed), pixels, self.side, self.row_wise)


@dataclass(frozen=True, kw_only=True)
class SequentialDigits(PixelSequences, Digits):
    """The digits that need no network, 8 x 8 pixels, as sequences.

    Source: Alpaydin & Kaynak 1998, as `digits`; the sequences as in PixelSequences.
    """

    side: int = 8


@dataclass(frozen=True, kw_only=True)
class SequentialMnist(PixelSequences, Mnist):
    """MNIST, 28 x 28 pixels, as sequences.

    Source: as `mnist`; the sequences as in PixelSequences.
    """

    side: int = 28


def sequences(data: Data, pixels: Array, side: int, row_wise: bool) -> Data:
    """Return the images (N, H, W, 1) as (N, side * side, 1) pixel by pixel, or (N, side, side) row by row, uint8.

    Args:
        pixels: which pixel comes at each step, see `pixel_order`.
        side: average the images down to this many pixels in height and width.
    """
    steps = (side, side) if row_wise else (side**2, 1)

    def read(split: Split) -> Split:
        flat = averaged(split.x, side).reshape(len(split), side**2)
        return Split(flat[:, pixels].reshape(len(split), *steps), split.y)

    smaller = f"images averaged to {side} x {side}" if side < data.train.x.shape[1] else ""
    return data.map(read).noting(smaller).noting(_repeated(pixels))


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

    Raises: UserError for an order that there is not.
    """
    if order not in ORDERS:
        raise unknown("dataset.order", order, ORDERS)
    if order == "permuted":
        return numpy_generator(seed, "pixel order").permutation(count)
    if order == "with_replacement":
        return np.random.RandomState(1).randint(0, count, count).astype(np.int64)
    return np.arange(count)


def _repeated(pixels: Array) -> str:
    seen = len(np.unique(pixels))
    return f"pixels drawn with replacement, {seen} of {len(pixels)} seen" if seen < len(pixels) else ""
