"""The digits that need no network, read pixel by pixel, or row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from normexp.data.base import Array, Data, Split
from normexp.data.digits import Digits
from normexp.data.sequential_mnist import ORDERS, averaged, pixel_order
from normexp.errors import unknown


@dataclass(frozen=True, kw_only=True)
class SequentialDigits(Digits):
    """The images of `digits` as sequences, uint8: (N, side * side, 1) pixel by pixel, (N, side, side) row by row.

    Args:
        side, order, row_wise: as those of `SequentialMnist`; `side` divides 8. `with_replacement` draws as the
            published code draws, from as many pixels as there are.

    Source: Alpaydin & Kaynak 1998, as `digits`; read as in Le, Jaitly & Hinton 2015, arXiv:1504.00941, section 4.2.
    """

    side: int = 8
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
        return replace(data, train=train, validation=validation, test=test)

    def _sequences(self, images: Array, pixels: Array) -> Array:
        flat = averaged(images, self.side).reshape(len(images), self.side**2)
        steps = (self.side, self.side) if self.row_wise else (self.side**2, 1)
        return flat[:, pixels].reshape(len(images), *steps)
