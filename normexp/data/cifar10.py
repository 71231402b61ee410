"""CIFAR-10: small colour photographs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from normexp.data import cache
from normexp.data.base import Array, Data, Dataset, Split, balanced
from normexp.data.cache import Content
from normexp.data.cifar_pickle import read_batch
from normexp.data.download import Remote, fetch, md5_of
from normexp.data.image_tree import Tree, arrays, class_names, read_tree
from normexp.data.images import SUFFIXES
from normexp.data.members import files, given, members
from normexp.data.progress import announce
from normexp.errors import UserError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {"train": tuple(f"data_batch_{number}" for number in range(1, 6)), "test": ("test_batch",)}
COUNTS = {"train": 50_000, "test": 10_000}


@dataclass(frozen=True, kw_only=True)
class Cifar10(Dataset):
    """50,000 training and 10,000 test images, uint8 (N, 32, 32, 3), 10 classes in the original label order.

    Args:
        archive: build from this instead of downloading: the original cifar-10-python.tar.gz, or images as
            `train|test/CLASS/*.png|jpg` in a tar, zip or folder. A JPEG copy says so in every table.
        test: number of test images to keep, class-balanced, where evaluations cost as much as training; None keeps all.

    Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images". Licence: none stated.
    """

    drawn = False
    validation: int = 5000
    archive: str | None = None
    test: int | None = None

    def read(self, seed: int) -> Data:
        content = self._content()
        train, empty, test = (content.split(name) for name in ("train", "validation", "test"))
        test = test if self.test is None else self._part(test, self.test)
        return Data(train, empty, test, task="classification", classes=content.classes, note=content.note)

    def _part(self, test: Split, count: int) -> Split:
        if count > len(test):
            raise UserError(f"dataset.test={count}: the test split has {len(test)} images")
        return test.take(balanced(test, count, "classification", self.split_seed))

    def find(self) -> bool:
        if self.archive is None:
            return cache.holds("cifar10", "download")
        given("dataset.archive", self.archive)
        return True

    def fetch(self) -> None:
        self._content()

    def _content(self) -> Content:
        return self._local(self.archive) if self.archive is not None else _downloaded()

    def _local(self, archive: str) -> Content:
        path = given("dataset.archive", archive)
        top = path if path.is_dir() else path.parent
        return cache.cached("cifar10", cache.key_of_files(top, files(path)), lambda: _build(path))


def original() -> Remote:
    """Return torchvision's address and MD5 of the original archive (imported late: it takes seconds)."""
    from torchvision.datasets import CIFAR10

    return Remote(CIFAR10.filename, (CIFAR10.url,), CIFAR10.tgz_md5)


def _downloaded() -> Content:
    def download() -> Content:
        return build_original(fetch(original(), cache.folder() / "downloads" / "cifar10"))

    return cache.cached("cifar10", "download", download)


def _build(path: Path) -> Content:
    """Build from a local copy, whichever of the known kinds it is. Raises UserError for any other."""
    for member in islice(members(path), 20):
        if member.name.suffix.lower() in SUFFIXES:
            return build_images(path)
        if path.is_file() and member.name.name in (*BATCHES["train"], *BATCHES["test"]):
            _check_md5(path)
            return build_original(path)
    raise UserError(
        f"{path}: unknown content; give the original cifar-10-python.tar.gz, "
        "or images as train|test/CLASS/*.png (or .jpg)"
    )


def build_original(path: Path) -> Content:
    """Read the pickled batches, in their order. Raises UserError for a missing or damaged one."""
    announce(f"reading {path}, once")
    names = {*BATCHES["train"], *BATCHES["test"]}
    found = {
        member.name.name: read_batch(member.data, f"{path}: {member.name}")
        for member in members(path)
        if member.name.name in names
    }
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


def _check_md5(path: Path) -> None:
    found, expected = md5_of(path), original().md5
    if found != expected:
        raise UserError(f"{path}: MD5 {found}, expected {expected} of the original archive; get a fresh copy")
