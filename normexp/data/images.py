"""Encoded images -> arrays of one size."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

import numpy as np

from normexp.data.base import Array
from normexp.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg")
LARGEST = 2**26  # pixels of one image; it takes 200 MB to decode so many


def decode(data: bytes, name: str, channels: int, size: int | None = None) -> Array:
    """Return one image as uint8 (H, W, channels).

    Args:
        name: what an error calls the image.
        channels: 1 converts to grey (ITU-R 601 luma), 3 to RGB.
        size: scale the shorter side to this many pixels, then crop the centre square; None leaves the size.

    Raises UserError for bytes that are no image, or one of more than 8 bits per channel.
    """
    from PIL import Image

    if size is not None and size**2 > LARGEST:
        raise UserError(f"dataset.size={size}: more than {LARGEST:,} pixels an image")
    bomb = Image.DecompressionBombWarning
    try:
        with warnings.catch_warnings(action="error", category=bomb), Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > LARGEST:
                raise bomb
            image.load()
            if image.mode[0] in "IF":
                raise UserError(f"{name}: more than 8 bits per channel (mode {image.mode}); convert it first")
            whole = _convert(image, channels)
    except (bomb, Image.DecompressionBombError):
        raise UserError(f"{name}: more than {LARGEST:,} pixels, which is refused; scale it down first") from None
    except (OSError, ValueError, SyntaxError):
        raise UserError(f"{name}: not a readable image ({len(data)} bytes)") from None
    array = np.asarray(whole if size is None else _square(whole, size))
    return array[..., None] if channels == 1 else array


def _convert(image: Image, channels: int) -> Image:
    if image.mode == "P":  # a palette may hold transparency, which only RGBA can take over
        image = image.convert("RGBA")
    return image.convert("L" if channels == 1 else "RGB")


def _square(image: Image, size: int) -> Image:
    """Scale with anti-aliasing and crop the centre."""
    from PIL.Image import Resampling

    scale = size / min(image.size)
    width, height = (max(size, round(side * scale)) for side in image.size)
    left, top = (width - size) // 2, (height - size) // 2
    scaled = image.resize((width, height), Resampling.BILINEAR)
    return scaled.crop((left, top, left + size, top + size))
