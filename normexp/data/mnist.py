"""MNIST: handwritten digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from normexp.data.images.idx_images import IdxImages


@dataclass(frozen=True, kw_only=True)
class Mnist(IdxImages):
    """60,000 training and 10,000 test images, uint8 (N, 28, 28, 1), of the digits 0 to 9.

    Source: LeCun, Bottou, Bengio & Haffner 1998, "Gradient-based learning applied to document recognition".
    Licence: commonly stated as CC BY-SA 3.0.
    """

    name: ClassVar[str] = "mnist"
    torchvision_class: ClassVar[str] = "MNIST"
    published: ClassVar[str] = "6c9a2d25a28060b30bdf3247214228ec4d58a132a2cd2ffeb4124fe708b03ce7"
    classes: ClassVar[tuple[str, ...]] = tuple("0123456789")
