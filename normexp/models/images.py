"""What the networks for images share: how small an image may be, and a share of the published width."""

from __future__ import annotations

from collections.abc import Sequence


def check_size(model: str, input_shape: Sequence[int], least: int) -> None:
    """Raise ValueError for images (C, H, W) with a side of fewer pixels."""
    size = tuple(input_shape[1:])
    if min(size) < least:
        raise ValueError(f"model={model} needs images of at least {least} x {least} pixels, not {size}")


def at_width(channels: int, width: float) -> int:
    """Return this share of a layer's channels, at least one."""
    return max(1, round(channels * width))
