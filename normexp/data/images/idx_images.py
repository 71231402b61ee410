"""Data sets of four idx files, as MNIST and those made after it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from normexp.config.identity import PUBLISHED
from normexp.config.places import place
from normexp.data.base import Array
from normexp.data.files import cache
from normexp.data.files.cache import Content
from normexp.data.files.content import content_by_name
from normexp.data.files.download import Remote, fetch
from normexp.data.images.idx import read_idx
from normexp.data.images.published import Published
from normexp.errors import UserError

FILES = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}


@dataclass(frozen=True, kw_only=True)
class IdxImages(Published):
    """Shapes: x uint8 (N, 28, 28, 1), y int64 (N,). Downloaded once; opened from the cache after that.

    Args:
        archive: build from the four idx files, .gz or plain, in this folder (or its raw/ or NAME/raw/).
    """

    torchvision_class: ClassVar[str]  # offers the addresses and MD5s, so that no list of ours grows old
    published: ClassVar[str]  # sha256 of what the four files unpack to, as `content_by_name` joins them
    classes: ClassVar[tuple[str, ...]]

    def check_copy(self, archive: str) -> None:
        find_files(archive, self.torchvision_class)

    def content_of_copy(self, archive: str) -> str:
        content = content_by_name(find_files(archive, self.torchvision_class), _sha256_of_numbers)
        return PUBLISHED if content == self.published else content

    def build(self, archive: str | None) -> Content:
        if archive is not None:
            other = self.content_of_copy(archive) != PUBLISHED
            note = f"other images or labels than {self.torchvision_class} was published with" if other else ""
            return build(find_files(archive, self.torchvision_class), self.classes, archive, note)
        directory = cache.downloads(self.name)
        for remote in remotes(self.torchvision_class):
            fetch(remote, directory)
        return build(find_files(str(directory), self.torchvision_class), self.classes, "downloaded")


def remotes(torchvision_class: str) -> Sequence[Remote]:
    """Return torchvision's files, mirrors and MD5s. Imported late: torchvision takes seconds."""
    from torchvision import datasets

    offered = getattr(datasets, torchvision_class)
    return [
        Remote(name, tuple(f"{mirror}{name}" for mirror in offered.mirrors), md5) for name, md5 in offered.resources
    ]


def find_files(archive: str, torchvision_class: str) -> dict[str, Path]:
    """Return the four idx files in `archive`, its raw/ or NAME/raw/. Raises UserError if one is missing."""
    top = Path(place("dataset.archive", archive))
    if not os.path.isdir(top):
        problem = "is a file, and a folder is needed" if os.path.exists(top) else "no such folder"
        raise UserError(f"dataset.archive={archive}: {problem} (with {FILES['train_x']}[.gz] and three more)")
    for directory in (top, top / "raw", top / torchvision_class / "raw"):
        found = {key: file for key, name in FILES.items() if (file := _gzipped_or_plain(directory / name))}
        if len(found) == len(FILES):
            return found
        if found:
            missing = next(name for key, name in FILES.items() if key not in found)
            raise UserError(f"dataset.archive={archive}: {directory / missing}(.gz) is missing")
    raise UserError(
        f"dataset.archive={archive}: no {FILES['train_x']}(.gz) in it, in raw/ or in {torchvision_class}/raw/"
    )


def build(files: dict[str, Path], classes: tuple[str, ...], source: str, note: str = "") -> Content:
    """Read four idx files. Raises UserError where they are damaged or do not fit together, or have one class."""
    labels = {key: _labels(files[key], len(classes)) for key in ("train_y", "test_y")}
    images = {key: read_idx(files[key], 3)[..., None] for key in ("train_x", "test_x")}
    for split in ("train", "test"):
        counts = len(images[f"{split}_x"]), len(labels[f"{split}_y"])
        if counts[0] != counts[1]:
            other = files[f"{split}_y"].name
            raise UserError(f"{files[f'{split}_x']}: {counts[0]} images, but {counts[1]} labels in {other}")
    shapes = [images[key].shape[1:3] for key in images]
    if shapes[0] != shapes[1]:
        raise UserError(f"{files['test_x']}: images of {shapes[1]} pixels, in training of {shapes[0]}")
    if (labels["train_y"] == labels["train_y"][0]).all():
        raise UserError(f"{files['train_y']}: every label is {labels['train_y'][0]}: nothing to learn")
    return Content({**images, **labels}, classes, note, source)


def _gzipped_or_plain(path: Path) -> Path | None:
    return next((file for file in (path, path.with_name(f"{path.name}.gz")) if os.path.isfile(file)), None)


def _labels(path: Path, classes: int) -> Array:
    labels = read_idx(path, 1)
    if labels.max() >= classes:
        raise UserError(f"{path}: label {labels.max()}, allowed: 0 to {classes - 1}")
    return labels.astype(np.int64)


def _sha256_of_numbers(path: Path) -> str:
    """Return the sha256 of what an idx file holds, which is the same for a gzipped one."""
    array = read_idx(path, 3 if "idx3" in path.name else 1)
    return hashlib.sha256(f"{array.shape}".encode() + array.tobytes()).hexdigest()
