"""CIFAR-10's binary version: 3,073 bytes an image, its label and its three colour planes.

Source: the description of the data set by its author, "Binary version".
"""

from __future__ import annotations

import numpy as np

from normexp.data.base import Array
from normexp.errors import UserError

RECORD = 1 + 3 * 32 * 32


def read_binary_batch(data: bytes, name: str) -> tuple[Array, Array]:
    """Return images, uint8 (N, 32, 32, 3), and labels, int64 (N,), of one batch. Raises UserError."""
    if not data or len(data) % RECORD:
        raise UserError(f"{name}: not a CIFAR-10 batch ({len(data)} bytes are not a whole number of images)")
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, RECORD)
    labels = rows[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise UserError(f"{name}: not a CIFAR-10 batch: label {labels.max()}, allowed: 0 to 9")
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels
