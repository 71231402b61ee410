"""Which steps are shown where many are taken: those that double, so that the first ones stand as close as they come."""

from __future__ import annotations


def is_doubling(step: int) -> bool:
    """Tell whether a step is 0 or a power of two."""
    return step & (step - 1) == 0
