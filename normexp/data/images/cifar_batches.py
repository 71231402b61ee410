"""CIFAR-10's batches as its author gives them: pickles, of which nothing but arrays is built, or the binary version.

Source: the description of the data set by its author.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from normexp.data.base import Array
from normexp.errors import UserError

_NUMPY = ("numpy.core.multiarray", "numpy._core.multiarray")  # before and since NumPy 2
RECORD = 1 + 3 * 32 * 32  # bytes of an image in the binary version: label, then three colour planes
_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    **{(module, "_reconstruct"): np.empty(0).__reduce__()[0] for module in _NUMPY},
}


class _ArraysOnly(pickle.Unpickler):
    """Refuses every name but those that make up an array, so that a pickle cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is refused")
        return _ALLOWED[module, name]


def read_pickled_batch(data: bytes, name: str) -> tuple[Array, Array]:
    """Return images, uint8 (N, 32, 32, 3), and labels, int64 (N,), of one batch. Raises UserError.

    A batch stores each image as 3,072 bytes: the red, the green and the blue plane, row by row.
    """
    try:
        batch = _ArraysOnly(io.BytesIO(data), encoding="latin1").load()  # written by Python 2
    except Exception as error:  # a damaged pickle raises almost anything
        raise UserError(f"{name}: not a readable CIFAR-10 batch ({' '.join(str(error).split())})") from None
    if not isinstance(batch, dict) or not {"data", "labels"} <= batch.keys():
        raise UserError(f"{name}: not a CIFAR-10 batch: it has no data and labels")
    labels = _labels(batch["labels"])
    return _pixels(batch["data"], len(labels), name).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def _pixels(found: object, count: int, name: str) -> Array:
    if isinstance(found, np.ndarray) and found.dtype == np.uint8 and found.shape == (count, 3072):
        return found
    kind = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
    raise UserError(f"{name}: data is {kind}, expected uint8 (N, 3072) with N = {count} labels from 0 to 9")


def _labels(found: object) -> Array:
    """Return the labels that are usable; fewer than there are images then, which the caller reports."""
    listed = found if isinstance(found, list) else []
    return np.array([label for label in listed if type(label) is int and 0 <= label <= 9], dtype=np.int64)


def read_binary_batch(data: bytes, name: str) -> tuple[Array, Array]:
    """Return images, uint8 (N, 32, 32, 3), and labels, int64 (N,), of one batch. Raises UserError."""
    if not data or len(data) % RECORD:
        raise UserError(f"{name}: not a CIFAR-10 batch ({len(data)} bytes are not a whole number of images)")
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, RECORD)
    labels = rows[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise UserError(f"{name}: not a CIFAR-10 batch: label {labels.max()}, allowed: 0 to 9")
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels
