"""CIFAR-10: small colour photographs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from normexp.config.identity import PUBLISHED
from normexp.data.base import Array, Data, Split, balanced
from normexp.data.files import cache
from normexp.data.files.cache import Content
from normexp.data.files.content import content_of, sha256_of
from normexp.data.files.download import Remote, fetch
from normexp.data.files.members import existing_path, members
from normexp.data.files.progress import announce
from normexp.data.images.cifar_batches import read_binary_batch, read_pickled_batch
from normexp.data.images.decoding import SUFFIXES
from normexp.data.images.published import Published
from normexp.data.images.tree import Tree, arrays, class_names, read_tree
from normexp.errors import UserError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {"train": tuple(f"data_batch_{number}" for number in range(1, 6)), "test": ("test_batch",)}
COUNTS = {"train": 50_000, "test": 10_000}
ORIGINALS = (  # sha256 of the author's archives, which hold the same pixels
    "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",  # cifar-10-python.tar.gz
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",  # cifar-10-binary.tar.gz
)


@dataclass(frozen=True, kw_only=True)
class Cifar10(Published):
    """50,000 training and 10,000 test images, uint8 (N, 32, 32, 3), 10 classes in the original label order.

    Args:
        archive: build from this instead of downloading: the original cifar-10-python.tar.gz, its binary version, or
            images as `train|test/CLASS/*.png|jpg` in a tar, zip or folder. A JPEG copy says so in every table.
        test: number of test images to keep, class-balanced, where evaluations cost as much as training; None keeps all.

    Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images". Licence: none stated.
    """

    test: int | None = None

    name: ClassVar[str] = "cifar10"

    def read(self, seed: int) -> Data:
        data = super().read(seed)
        return data if self.test is None else replace(data, test=self._part(data.test, self.test))

    def _part(self, test: Split, count: int) -> Split:
        if count > len(test):
            raise UserError(f"dataset.test={count}: the test split has {len(test)} images")
        return test.take(balanced(test, count, "classification", self.split_seed))

    def check_copy(self, archive: str) -> None:
        existing_path("dataset.archive", archive)

    def content_of_copy(self, archive: str) -> str:
        path = existing_path("dataset.archive", archive)
        content = content_of(path)
        return PUBLISHED if content in ORIGINALS else content

    def build(self, archive: str | None) -> Content:
        if archive is not None:
            return build_copy(existing_path("dataset.archive", archive))
        return build_original(fetch(original(), cache.downloads("cifar10")))


def original() -> Remote:
    """Return torchvision's address and MD5 of the original archive (imported late: it takes seconds)."""
    from torchvision.datasets import CIFAR10

    return Remote(CIFAR10.filename, (CIFAR10.url,), CIFAR10.tgz_md5)


def build_copy(path: Path) -> Content:
    """Build from a local copy, whichever of the known kinds it is. Raises UserError for any other."""
    for member in islice(members(path), 20):
        if member.name.suffix.lower() in SUFFIXES:
            return build_images(path)
        if path.is_file() and member.name.stem in (*BATCHES["train"], *BATCHES["test"]):
            return build_original(_checked(path))
    raise UserError(
        f"{path}: unknown content; give the original cifar-10-python.tar.gz, "
        "or images as train|test/CLASS/*.png (or .jpg)"
    )


def build_original(path: Path) -> Content:
    """Read the author's batches, pickled or binary, in their order. Raises UserError for a missing or damaged one."""
    announce(f"reading {path}, once")
    names = {*BATCHES["train"], *BATCHES["test"]}
    found = {}
    for member in members(path):
        if member.name.stem in names:
            read = read_binary_batch if member.name.suffix == ".bin" else read_pickled_batch
            found[member.name.stem] = read(member.read(), f"{path}: {member.name}")
    missing = sorted(names - found.keys())
    if missing:
        raise UserError(f"{path}: {missing[0]} is missing")
    content: dict[str, Array] = {}
    for split, batches in BATCHES.items():
        images, labels = zip(*(found[name] for name in batches), strict=True)
        content |= {f"{split}_x": np.concatenate(images), f"{split}_y": np.concatenate(labels)}
    return Content(content, CLASSES, source=str(path))


def build_images(path: Path) -> Content:
    """Decode a copy made of image files. Raises UserError for other classes or sizes than CIFAR-10's."""
    tree = read_tree(path, channels=3)
    names = class_names(path, tree)
    if names != CLASSES:
        odd = sorted(set(names) ^ set(CLASSES))[0]
        problem = "is missing" if odd in CLASSES else "is none of CIFAR-10's"
        raise UserError(f"{path}: class {odd!r} {problem}; expected {', '.join(CLASSES)}")
    content = arrays(path, tree, CLASSES)
    if content["train_x"].shape[1:3] != (32, 32):
        height, width = content["train_x"].shape[1:3]
        raise UserError(f"{path}: images of {width} x {height} pixels, expected 32 x 32")
    return Content(content, CLASSES, _note(tree), str(path))


def _note(tree: Tree) -> str:
    """Say that these are not the original pixels, and that some are missing where that is so."""
    counts = {split: sum(len(images) for images in tree[split].values()) for split in COUNTS}
    suffixes = {Path(name).suffix.lower() for images in tree["train"].values() for name in images}
    note = "CIFAR-10, PNG copy" if suffixes == {".png"} else "CIFAR-10, JPEG copy"
    return note if counts == COUNTS else f"{note}, {_spoken(counts)} of {_spoken(COUNTS)} images"


def _spoken(counts: Mapping[str, int]) -> str:
    return f"{counts['train']:,} + {counts['test']:,}"


def _checked(path: Path) -> Path:
    """Return the path of an original archive. Raises UserError where it is not one of the author's two."""
    if (found := sha256_of(path)) not in ORIGINALS:
        expected = " or ".join(ORIGINALS)
        raise UserError(f"{path}: SHA-256 {found}, expected {expected} of the original archive; get a fresh copy")
    return path
