"""The digits that need no network, read pixel by pixel, or row by row."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.data.base import Data
from normexp.data.digits import Digits
from normexp.data.pixel_sequences import pixel_order, sequences


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
        pixels = pixel_order(self.order, self.side**2, self.split_seed)
        return sequences(super().read(seed), pixels, self.side, self.row_wise)
