"""Data sets of four idx files, as MNIST and those made after it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from normexp.data import cache
from normexp.data.base import Array, Data, Dataset
from normexp.data.cache import Content
from normexp.data.download import Remote, fetch
from normexp.data.idx import read_idx
from normexp.errors import UserError

FILES = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}


@dataclass(frozen=True, kw_only=True)
class IdxImages(Dataset):
    """Shapes: x uint8 (N, 28, 28, 1), y int64 (N,). Downloaded once; opened from the cache after that.

    Args:
        archive: build from the four idx files, .gz or plain, in this folder (or its raw/ or NAME/raw/).
    """

    drawn = False
    validation: int = 5000
    archive: str | None = None

    name: ClassVar[str]
    torchvision_class: ClassVar[str]  # offers the addresses and MD5s, so that no list of ours grows old
    classes: ClassVar[tuple[str, ...]]

    def read(self, seed: int) -> Data:
        content = self._content()
        train, empty, test = (content.split(name) for name in ("train", "validation", "test"))
        return Data(train, empty, test, task="classification", classes=content.classes, note=content.note)

    def find(self) -> bool:
        if self.archive is None:
            return cache.holds(self.name, "download")
        find_files(self.archive, self.torchvision_class)
        return True

    def fetch(self) -> None:
        self._content()

    def _content(self) -> Content:
        return self._local(self.archive) if self.archive is not None else self._downloaded()

    def _local(self, archive: str) -> Content:
        files = find_files(archive, self.torchvision_class)
        top = files["train_x"].parent
        key = cache.key_of_files(top, files.values())
        return cache.cached(self.name, key, lambda: build(files, self.classes, str(top)))

    def _downloaded(self) -> Content:
        def download() -> Content:
            place = cache.folder() / "downloads" / self.name
            for remote in remotes(self.torchvision_class):
                fetch(remote, place)
            return build(find_files(str(place), self.torchvision_class), self.classes, "downloaded")

        return cache.cached(self.name, "download", download)


def remotes(torchvision_class: str) -> Sequence[Remote]:
    """Return torchvision's files, mirrors and MD5s. Imported late: torchvision takes seconds."""
    from torchvision import datasets

    offered = getattr(datasets, torchvision_class)
    return [
        Remote(name, tuple(f"{mirror}{name}" for mirror in offered.mirrors), md5) for name, md5 in offered.resources
    ]


def find_files(archive: str, torchvision_class: str) -> dict[str, Path]:
    """Return the four idx files in `archive`, its raw/ or NAME/raw/. Raises UserError if one is missing."""
    top = Path(os.path.expanduser(archive))
    if not top.is_dir():
        problem = "is a file, and a folder is needed" if top.exists() else "no such folder"
        raise UserError(f"dataset.archive={archive}: {problem} (with {FILES['train_x']}[.gz] and three more)")
    for place in (top, top / "raw", top / torchvision_class / "raw"):
        found = {key: file for key, name in FILES.items() if (file := _gzipped_or_plain(place / name))}
        if len(found) == len(FILES):
            return found
        if found:
            missing = next(name for key, name in FILES.items() if key not in found)
            raise UserError(f"dataset.archive={archive}: {place / missing}(.gz) is missing")
    raise UserError(
        f"dataset.archive={archive}: no {FILES['train_x']}(.gz) in it, in raw/ or in {torchvision_class}/raw/"
    )


def build(files: dict[str, Path], classes: tuple[str, ...], source: str) -> Content:
    """Read four idx files. Raises UserError where they are damaged or do not fit together."""
    labels = {key: _labels(files[key], len(classes)) for key in ("train_y", "test_y")}
    images = {key: read_idx(files[key], 3)[..., None] for key in ("train_x", "test_x")}
    for split in ("train", "test"):
        counts = len(images[f"{split}_x"]), len(labels[f"{split}_y"])
        if counts[0] != counts[1] or not counts[0]:
            other = files[f"{split}_y"].name
            raise UserError(f"{files[f'{split}_x']}: {counts[0]} images, but {counts[1]} labels in {other}")
    shapes = [images[key].shape[1:3] for key in images]
    if shapes[0] != shapes[1]:
        raise UserError(f"{files['test_x']}: images of {shapes[1]} pixels, in training of {shapes[0]}")
    return Content({**images, **labels}, classes, source=source)


def _gzipped_or_plain(path: Path) -> Path | None:
    return next((file for file in (path, path.with_name(f"{path.name}.gz")) if file.is_file()), None)


def _labels(path: Path, classes: int) -> Array:
    labels = read_idx(path, 1)
    if len(labels) and labels.max() >= classes:
        raise UserError(f"{path}: label {labels.max()}, allowed: 0 to {classes - 1}")
    return labels.astype(np.int64)
