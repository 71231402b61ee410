"""MNIST read pixel by pixel, or row by row."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.data.base import Data
from normexp.data.mnist import Mnist
from normexp.data.pixel_sequences import pixel_order, sequences


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
        pixels = pixel_order(self.order, self.side**2, self.split_seed)
        return sequences(super().read(seed), pixels, self.side, self.row_wise)
