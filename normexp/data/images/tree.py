"""Images laid out as SPLIT/CLASS/FILE, or as CLASS/FILE, in a folder or an archive -> arrays and labels per split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from normexp.config.text import amount, composed
from normexp.data.base import Array, check_fits
from normexp.data.files.members import check_complete, entries, files, is_litter, size
from normexp.data.files.progress import announce, byte_bar, logger
from normexp.data.images.decoding import SUFFIXES, decode
from normexp.errors import UserError

LAYOUT = "it must hold train/CLASS/*.png (or .jpg) and, if you like, val/CLASS/* and test/CLASS/*, or CLASS/* alone"
OTHERS = {".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".heic", ".heif", ".jp2", ".jxl", ".jfif", ".ppm", ".pgm"}
LONG = 2**20  # bytes of images that take so long to decode that it is said
SPLITS = {"train": "train", "training": "train", "test": "test", "testing": "test"}  # whatever their case
SPLITS |= dict.fromkeys(("val", "valid", "validation", "dev"), "validation")

Tree = dict[str, dict[str, dict[str, Array]]]  # split -> class -> file name -> uint8 (H, W, C)


def read_tree(path: Path, channels: int, size_to: int | None = None) -> Tree:
    """Decode every image of `path`, in one pass, with a progress bar.

    A folder around train/ and test/, or around the classes, is accepted. Images of classes alone are the training
    split. Raises UserError for a damaged archive or image, and where an image lies elsewhere than in SPLIT/CLASS/, or
    than the first one where that is in CLASS/.
    """
    check_complete(path)
    check_names(path, files(path))
    place = _Places(path)
    tree: Tree = {}
    others: list[PurePosixPath] = []
    folders: list[PurePosixPath] = []
    done, total = 0, size(path)
    if total > LONG:
        announce(f"decoding the images of {path}, once")
    with byte_bar(total, path.name) as bar:
        for member in entries(path):
            bar.update(member.position - bar.n)
            if member.kind == "folder":
                folders.append(member.name)
            elif member.name.suffix.lower() in OTHERS:
                raise _to_convert(path, member.name)
            elif member.name.suffix.lower() in SUFFIXES:
                split, kind = place.of(member.name)
                image = decode(member.read(), f"{path}: {member.name}", channels, size_to)
                done += image.size
                check_fits(done // 2, f"{path}: {done / 2**30:.1f} GB of decoded images")  # they are stacked once more
                tree.setdefault(split, {}).setdefault(kind, {})[str(member.name)] = image
            else:
                others.append(member.name)
    images = [PurePosixPath(name) for kinds in tree.values() for images in kinds.values() for name in images]
    _check_no_class_is_empty(path, images, folders)
    _say_left_out(path, images, others)
    return tree


def _say_left_out(path: Path, images: Iterable[PurePosixPath], others: Iterable[PurePosixPath]) -> None:
    """Say which files among the images are not read: an image may have lost the end of its name."""
    read = {name.parent for name in images}
    if left := [name for name in others if name.parent in read]:
        logger.info(f"{path}: left out {amount(len(left), 'file')} among the images, no .png or .jpg ({left[0]})")


def check_names(path: Path, found: Sequence[Path]) -> None:
    """Raise UserError for a folder with images that are not read, or with a class without images.

    Also before a cache is asked: what is in it, and what was trained, knows nothing of these. An archive, whose
    names are inside, cannot change behind its entry in the cache: `read_tree` looks at them.

    Args:
        found: its files, as `files` returns them.
    """
    if not path.is_dir():
        return
    names = [PurePosixPath(file.relative_to(path).as_posix()) for file in found]
    for name in sorted(names):
        if name.suffix.lower() in OTHERS:
            raise _to_convert(path, name)
    images, place = [name for name in names if name.suffix.lower() in SUFFIXES], _Places(path)
    for name in images:
        place.of(name)
    around = {name.parent.parent for name in images}
    beside = [each for folder in around for each in (path / folder).iterdir() if each.is_dir()]
    _check_no_class_is_empty(path, images, [PurePosixPath(each.relative_to(path).as_posix()) for each in beside])


def _to_convert(path: Path, name: PurePosixPath) -> UserError:
    return UserError(f"{path}: {str(name)!r}: images must be .png or .jpg; convert it first")


def _check_no_class_is_empty(path: Path, images: Iterable[PurePosixPath], folders: Iterable[PurePosixPath]) -> None:
    """Raise UserError for a folder without images beside those of classes: one class fewer is another task."""
    full = {name.parent for name in images}
    around = {folder.parent for folder in full}
    for folder in sorted(set(folders) - full):
        if folder.name and folder.parent in around and not is_litter(folder):
            raise UserError(f"{path}: {str(folder)!r}: a class without images; remove the folder")


def class_names(path: Path, tree: Tree) -> tuple[str, ...]:
    """Return the class names, sorted. Raises UserError where none are for training or classes disagree."""
    if "train" not in tree:
        found = ", ".join(sorted(tree)) or "no images"
        raise UserError(f"{path}: no images in train/CLASS/ (found: {found}); {LAYOUT}")
    names = set(tree["train"])
    for split, classes in tree.items():
        odd = sorted(names ^ set(classes))
        if odd:
            where = (split, "train") if odd[0] in classes else ("train", split)
            beside = [f", which has {name!r}" for name in odd[1:] if name.casefold() == odd[0].casefold()]
            raise UserError(
                f"{path}: class {odd[0]!r} is in {where[0]}/ but not in {where[1]}/{''.join(beside)}; "
                "every split must have the same classes"
            )
    if len(names) < 2:
        raise UserError(f"{path}: only one class, {min(names)!r}; there must be two or more")
    return tuple(sorted(names))


def arrays(path: Path, tree: Tree, classes: tuple[str, ...]) -> dict[str, Array]:
    """Return `SPLIT_x`, uint8 (N, H, W, C), and `SPLIT_y`, int64 (N,), of every split in the tree.

    Examples are dealt class by class (the first of each, the second of each, ...), so that any beginning of a
    split is balanced. Raises UserError where two images differ in size.
    """
    found: dict[str, Array] = {}
    splits = [split for split in ("train", "validation", "test") if split in tree]
    for split in splits:
        images = tree[split]
        dealt = sorted(
            (rank, label, name) for label, kind in enumerate(classes) for rank, name in enumerate(sorted(images[kind]))
        )
        found[f"{split}_x"] = _stack(path, {name: images[classes[label]][name] for _, label, name in dealt})
        found[f"{split}_y"] = np.array([label for _, label, _ in dealt], dtype=np.int64)
    _check_one_size(path, {f"{split}/": found[f"{split}_x"].shape[1:] for split in splits})
    return found


class _Places:
    """Says of every image where it belongs; the first one tells whether there are folders of splits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first: PurePosixPath | None = None
        self.folders: dict[str, PurePosixPath] = {}  # of each split

    def of(self, name: PurePosixPath) -> tuple[str, str]:
        """Return split and class of an image. Raises UserError where it lies elsewhere than the first."""
        self.first = self.first or name
        split, kind = _split(name), composed(name.parent.name)
        if split:
            if _split(self.first):
                self._check_one_folder(split, name.parent.parent)
                return split, kind
        elif kind and kind.casefold() not in SPLITS and name.parent.parent == self.first.parent.parent:
            return "train", kind
        outside = self.first if split else name  # of the two, if one lies in a split
        where = "SPLIT/CLASS/" if name == self.first or _split(self.first) else f"CLASS/ as {str(self.first)!r} is"
        reason = f" ({kind!r} names a split, no class)" if kind.casefold() in SPLITS else ""
        if (folder := outside.parent.parent.name) and bool(split) != bool(_split(self.first)):
            reason = f" ({folder!r} is no name of a split; allowed: train, val, test)"
        raise UserError(f"{self.path}: image {str(name)!r} is not in {where}{reason}; {LAYOUT}")

    def _check_one_folder(self, split: str, folder: PurePosixPath) -> None:
        """Raise UserError for two folders of one split, as of two folds: one's training images are the other's test."""
        if (first := self.folders.setdefault(split, folder)) != folder:
            two = f"{str(first)!r} and {str(folder)!r} are two folders of {split} images"
            raise UserError(f"{self.path}: {two}; keep one, or put the images of both into it")


def _split(name: PurePosixPath) -> str | None:
    """Return the split that the folder above an image's class names."""
    return SPLITS.get(name.parent.parent.name.casefold())


def _stack(path: Path, images: Mapping[str, Array]) -> Array:
    _check_one_size(path, {name: image.shape for name, image in images.items()})
    return np.stack(list(images.values()))


def _check_one_size(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    first, expected = next(iter(shapes.items()))
    for name, shape in shapes.items():
        if shape != expected:
            raise UserError(
                f"{path}: images of unequal size: {first} is {expected[1]} x {expected[0]}, {name} is "
                f"{shape[1]} x {shape[0]}; set dataset.size=N to scale and crop all to N x N"
            )
