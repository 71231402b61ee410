"""Fashion-MNIST: articles of clothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from normexp.data.images.idx_images import IdxImages


@dataclass(frozen=True, kw_only=True)
class FashionMnist(IdxImages):
    """60,000 training and 10,000 test images, uint8 (N, 28, 28, 1), of 10 kinds of clothing.

    Source: Xiao, Rasul & Vollgraf 2017, arXiv:1708.07747. Licence: MIT.
    """

    name: ClassVar[str] = "fashion_mnist"
    torchvision_class: ClassVar[str] = "FashionMNIST"
    published: ClassVar[str] = "29b22749c5a5630f903a06f1e398736554d3cd04a4efd5c040a7d010ddce1567"
    classes: ClassVar[tuple[str, ...]] = (
        "T-shirt/top",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    )
