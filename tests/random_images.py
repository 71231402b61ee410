"""Ten classes of random images: data in memory where what is learned from them does not matter."""

import numpy as np

from normexp.data.base import Data, Split


def random_images(seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)

    def split(count: int) -> Split:
        return Split(rng.integers(0, 256, (count, 12, 12, 3), np.uint8), np.arange(count) % 10)

    return Data(split(20), split(5), split(10), task="classification", classes=tuple("0123456789"))
