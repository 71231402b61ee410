"""The idx format of MNIST: a magic number, the sizes, then bytes.

Source: LeCun, Cortes & Burges, the format's description on the page of the MNIST database.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np

from normexp.data.base import Array
from normexp.data.files.members import GZIP
from normexp.errors import POINTER, UserError, is_pointer

LARGEST = 2**31  # numbers in a file; MNIST has 47 million
UNSIGNED_BYTE = 0x08


def read_idx(path: Path, dimensions: int) -> Array:
    """Return the uint8 array of `dimensions` axes in an idx file, gzipped or plain.

    Raises UserError for a truncated or damaged file, another magic number, or a wrong length.
    """
    with opened(path) as file:
        header = 4 + 4 * dimensions
        start = file.read(header)
        magic, expected = int.from_bytes(start[:4]), UNSIGNED_BYTE << 8 | dimensions
        if len(start) >= 4 and magic != expected:
            raise UserError(f"{path}: wrong magic number 0x{magic:08x}, expected 0x{expected:08x}")
        if len(start) < header:
            raise UserError(f"{path}: truncated or damaged: {len(start)} of {header} bytes; get a fresh copy")
        shape = [int.from_bytes(start[index : index + 4]) for index in range(4, header, 4)]
        size = math.prod(shape)
        if not 0 < size <= LARGEST:
            sizes = " x ".join(map(str, shape))
            raise UserError(f"{path}: holds {sizes} numbers; there must be some, and at most {LARGEST:,}")
        data = file.read(size + 1)  # no more: a small file may unpack to a very large one
    if len(data) != size:
        found = f"more than {size}" if len(data) > size else str(len(data))
        raise UserError(f"{path}: truncated or damaged: {found} of {size} bytes; get a fresh copy")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read what it unpacks to, if it is gzipped. Raises UserError where that is none, or a pointer."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
            file.seek(0)
            if is_pointer(start):
                raise UserError(f"{path}: {POINTER}")
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if start.startswith(GZIP) else file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = f"truncated or damaged gzip file of {path.stat().st_size} bytes ({error})"
        raise UserError(f"{path}: {what}; get a fresh copy") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
