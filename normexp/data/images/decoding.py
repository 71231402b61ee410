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
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")  # by their content, whatever the suffix
MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA")
PNG = b"\x89PNG\r\n\x1a\n"
LARGEST = 2**26  # pixels of one image; it takes 200 MB to decode so many


def decode(data: bytes, name: str, channels: int, size: int | None = None) -> Array:
    """Return one image as uint8 (H, W, channels).

    Args:
        name: what an error calls the image.
        channels: 1 converts to grey (ITU-R 601 luma), 3 to RGB.
        size: scale the shorter side to this many pixels, then crop the centre square; None leaves the size.

    It is turned upright as its EXIF data say, the colours of a palette are looked up, colour profiles are not applied.
    Raises UserError, naming the image, for bytes that are none, and for one that is animated, has transparent pixels,
    more than 8 bits per channel, or colours of print (CMYK).
    """
    from PIL import Image

    if size is not None and size**2 > LARGEST:
        raise UserError(f"dataset.size={size}: more than {LARGEST:,} pixels an image")
    bomb = Image.DecompressionBombWarning
    try:
        with warnings.catch_warnings(action="ignore"):  # of damaged EXIF data, of which counts what can be read
            warnings.simplefilter("error", bomb)
            whole = _opened(data, name, channels)
    except (bomb, Image.DecompressionBombError):
        raise UserError(f"{name}: more than {LARGEST:,} pixels, which is refused; scale it down first") from None
    except (OSError, ValueError, SyntaxError):
        raise UserError(f"{name}: not a readable image ({len(data)} bytes)") from None
    array = np.asarray(whole if size is None else _square(whole, size, name))
    return array[..., None] if channels == 1 else array


def _opened(data: bytes, name: str, channels: int) -> Image:
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        if image.width * image.height > LARGEST:
            raise Image.DecompressionBombWarning
        image.load()
        _check_kind(image, data, name)
        return _convert(image, name, channels)


def _check_kind(image: Image, data: bytes, name: str) -> None:
    """Raise UserError for what cannot be turned into 8 bits of grey or RGB without a choice that is the user's."""
    if data.startswith(PNG) and data[24] > 8:  # Pillow cuts 16 bits of colour to 8 and says nothing
        raise UserError(f"{name}: more than 8 bits per channel ({data[24]}); convert it first")
    if image.mode not in MODES:
        raise UserError(f"{name}: colours of mode {image.mode}, which has no one meaning in RGB; convert it first")
    if getattr(image, "is_animated", False) and image.format != "MPO":  # in which cameras keep a preview
        raise UserError(f"{name}: animated; save the one picture that is meant")


def _convert(image: Image, name: str, channels: int) -> Image:
    from PIL import ImageOps

    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema() != (255, 255):
            raise UserError(f"{name}: has transparent pixels; put it on a background first")
    return ImageOps.exif_transpose(image).convert("L" if channels == 1 else "RGB")


def _square(image: Image, size: int, name: str) -> Image:
    """Scale with anti-aliasing and crop the centre. Raises UserError for an image that is too narrow for that."""
    from PIL.Image import Resampling

    scale = size / min(image.size)
    width, height = (max(size, round(side * scale)) for side in image.size)
    if width * height > LARGEST:
        raise UserError(f"{name}: {image.width} x {image.height} pixels, too narrow for dataset.size={size}; crop it")
    left, top = (width - size) // 2, (height - size) // 2
    scaled = image.resize((width, height), Resampling.BILINEAR)
    return scaled.crop((left, top, left + size, top + size))
