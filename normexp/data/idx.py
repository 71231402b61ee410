"""The idx format of MNIST: a magic number, the sizes, then bytes.

Source: LeCun, Cortes & Burges, the format's description on the page of the MNIST database.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from normexp.data.base import Array
from normexp.errors import UserError

GZIP = b"\x1f\x8b"
UNSIGNED_BYTE = 0x08


def read_idx(path: Path, dimensions: int) -> Array:
    """Return the uint8 array of `dimensions` axes in an idx file, gzipped or plain.

    Raises UserError for a truncated or damaged file, another magic number, or a wrong length.
    """
    data = _unpacked(path)
    magic, expected = int.from_bytes(data[:4]), UNSIGNED_BYTE << 8 | dimensions
    if magic != expected:
        raise UserError(f"{path}: wrong magic number 0x{magic:08x}, expected 0x{expected:08x}")
    start = 4 + 4 * dimensions
    shape = [int.from_bytes(data[place : place + 4]) for place in range(4, start, 4)]
    length = start + math.prod(shape)
    if len(data) != length:
        raise UserError(f"{path}: truncated or damaged: {len(data)} of {length} bytes; get a fresh copy")
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def _unpacked(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == GZIP else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = f"truncated or damaged gzip file of {path.stat().st_size} bytes ({error})"
        raise UserError(f"{path}: {what}; get a fresh copy") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
