"""Arrays as MNIST's files have them."""

import numpy as np


def idx_bytes(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4) for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()
