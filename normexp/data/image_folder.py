"""Your own images, sorted into folders by class, and if you like by split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from normexp.data.base import Data, choose, move
from normexp.data.files.cache import Content, cached
from normexp.data.files.content import content_of
from normexp.data.files.members import existing_path, files
from normexp.data.images.decoding import SUFFIXES
from normexp.data.images.labelled import LabelledImages
from normexp.data.images.tree import LAYOUT, arrays, check_names, class_names, read_tree
from normexp.data.remarks import say_alike, say_repeated, say_unseen
from normexp.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ImageFolder(LabelledImages):
    """A folder, zip or tar(.gz) of `train|val|test/CLASS/*.png|jpg|jpeg`, or of `CLASS/*`; decoded once, then cached.

    Shapes: x uint8 (N, H, W, channels), y int64 (N,); classes in alphabetical order. Where there is no val/
    (or validation/), `validation` examples are held out of train; where there is no test/, `test` examples before them.

    Args:
        path: the folder or archive.
        channels: 1 reads the images as grey, 3 as RGB.
        size: scale the shorter side to this and crop the centre; None demands images of one size.
        test: images of the test split, where they have none: a number of them, class-balanced, or the share of every
            class (0.2), chosen by `split_seed`; None is a fifth of every class. Both shares are of all images.

    Source, licence: yours.
    """

    drawn = False
    path: str | None = None
    channels: int = 3
    size: int | None = None
    test: float | None = None

    def read(self, seed: int) -> Data:
        content = self._content()
        train, validation, test = (content.split(name) for name in ("train", "validation", "test"))
        data = Data(train, validation, test, task="classification", classes=content.classes)
        if len(test) == 0:
            data = self._set_test_apart(data)
        elif self.test is not None:
            raise UserError(
                f"dataset.test={self.test}: {self.path} has a test split of its own; leave dataset.test out"
            )
        unused = f"a validation folder is there, and dataset.validation={self.validation} is not used"
        return data.noting(unused if len(validation) and self.validation else "")

    def load(self, seed: int) -> Data:
        return say_repeated(say_unseen(say_alike(super().load(seed))))

    def _set_test_apart(self, data: Data) -> Data:
        wish = 0.2 if self.test is None else self.test
        chosen = choose(data, wish, self.split_seed, f"dataset.test={wish}")
        share = f"{len(chosen):,} of {len(data.train):,} images, chosen by dataset.split_seed"
        return move(data, chosen, "test").noting(f"no test folder: {share}, are the test split")

    def content(self) -> str:
        path = self._path()
        found = files(path)
        check_names(path, found)
        return content_of(path, [file for file in found if file.suffix.lower() in SUFFIXES])  # what is read

    def find(self) -> bool:
        self._path()
        return True

    def fetch(self) -> None:
        self._content()

    def _path(self) -> Path:
        if self.path is None:
            raise UserError(f"dataset.path is not set: give a folder, zip or tar of images; {LAYOUT}")
        return existing_path("dataset.path", self.path)

    def _content(self) -> Content:
        path = self._path()
        if self.channels not in (1, 3):
            raise UserError(f"dataset.channels={self.channels}: must be 1 (grey) or 3 (RGB)")
        key = f"{self.channels} {self.size} upright {self.content()}"
        return cached("image_folder", key, lambda: self._build(path))

    def _build(self, path: Path) -> Content:
        tree = read_tree(path, self.channels, self.size)
        classes = class_names(path, tree)
        return Content(arrays(path, tree, classes), classes, source=str(path))
