"""Logarithms of measured sizes, of which one may be 0: a gradient that vanished."""

from __future__ import annotations

import math


def log(size: float) -> float:
    """Return the natural logarithm, -inf of 0."""
    return math.log(size) if size else -math.inf


def log10(size: float) -> float:
    """Return the logarithm to base 10, -inf of 0."""
    return math.log10(size) if size else -math.inf
