"""The random numbers of data: streams of their own, so that what one draws leaves the others alone.

Splits and orders that were committed before draw by seeds of their own, and go on to: their numbers are in records.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np


def numpy_generator(seed: int, name: str) -> np.random.Generator:
    """Return a fresh generator for a named stream: of one data set, or of one of its splits."""
    return np.random.default_rng([seed, crc32(name.encode())])
