"""Your own images, sorted into folders by split and class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from normexp.data.base import Data, Dataset
from normexp.data.cache import Content, cached
from normexp.data.content import content_of
from normexp.data.image_tree import LAYOUT, arrays, class_names, read_tree
from normexp.data.members import files, given
from normexp.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ImageFolder(Dataset):
    """A folder, zip or tar(.gz) of `train|val|test/CLASS/*.png|jpg|jpeg`; decoded once, then cached.

    Shapes: x uint8 (N, H, W, channels), y int64 (N,); classes in alphabetical order. Where there is no val/
    (or validation/), `validation` examples are held out of train.

    Args:
        path: the folder or archive.
        channels: 1 reads the images as grey, 3 as RGB.
        size: scale the shorter side to this and crop the centre; None demands images of one size.

    Source, licence: yours.
    """

    drawn = False
    path: str | None = None
    channels: int = 3
    size: int | None = None

    def read(self, seed: int) -> Data:
        content = self._content()
        return Data(
            content.split("train"),
            content.split("validation"),
            content.split("test"),
            task="classification",
            classes=content.classes,
        )

    def content(self) -> str:
        path = self._path()
        return content_of(path, files(path))

    def find(self) -> bool:
        self._path()
        return True

    def fetch(self) -> None:
        self._content()

    def _path(self) -> Path:
        if self.path is None:
            raise UserError(f"dataset.path is not set: give a folder, zip or tar of images; {LAYOUT}")
        return given("dataset.path", self.path)

    def _content(self) -> Content:
        path = self._path()
        if self.channels not in (1, 3):
            raise UserError(f"dataset.channels={self.channels}: must be 1 (grey) or 3 (RGB)")
        key = f"{self.channels} {self.size} {self.content()}"
        return cached("image_folder", key, lambda: self._build(path))

    def _build(self, path: Path) -> Content:
        tree = read_tree(path, self.channels, self.size)
        classes = class_names(path, tree)
        return Content(arrays(path, tree, classes), classes, source=str(path))
