"""Images read pixel by pixel, or row by row: what every such data set shares."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

import numpy as np

from normexp.data.base import Array, Data, Split
from normexp.errors import UserError, unknown

ORDERS = ("rows", "permuted", "with_replacement")


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
    note = "; ".join(filter(None, (data.note, smaller, _repeated(pixels))))
    return replace(data, train=read(data.train), validation=read(data.validation), test=read(data.test), note=note)


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
    if order not in ORDERS:
        raise unknown("dataset.order", order, ORDERS)
    if order == "permuted":
        return np.random.default_rng([seed, crc32(b"pixel order")]).permutation(count)
    if order == "with_replacement":
        return np.random.RandomState(1).randint(0, count, count).astype(np.int64)
    return np.arange(count)


def _repeated(pixels: Array) -> str:
    seen = len(np.unique(pixels))
    return f"pixels drawn with replacement, {seen} of {len(pixels)} seen" if seen < len(pixels) else ""
