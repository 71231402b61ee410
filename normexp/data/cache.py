"""The cache: what was downloaded or decoded once, as arrays that open in milliseconds.

One entry is one folder `NAME-KEY8`: a `.npy` file per array (memory-mapped when opened) and `manifest.json`.
An entry appears by one rename, so a killed build leaves no half entry and two builders cannot mix.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from normexp.data.base import Array, Split
from normexp.errors import UserError

FORMAT = 1  # part of every key: a new layout leaves old entries alone
ABANDONED = 24 * 3600.0  # seconds after which another process's temporary files belong to nobody


@dataclass(frozen=True)
class Content:
    """What one entry holds.

    Args:
        arrays: `train_x`, `train_y`, `test_x`, `test_y` and, for some, `validation_x`, `validation_y`.
        classes: class names in the order of the labels.
        note: what tables made from this data must say; may be empty.
        source: where it came from.
    """

    arrays: Mapping[str, Array]
    classes: tuple[str, ...] = ()
    note: str = ""
    source: str = ""

    def split(self, name: str) -> Split:
        """Return the split called `name`; where the entry has none, an empty one shaped as `train`."""
        if f"{name}_x" not in self.arrays:
            return Split(self.arrays["train_x"][:0], self.arrays["train_y"][:0])
        return Split(self.arrays[f"{name}_x"], self.arrays[f"{name}_y"])


class UnwritableCache(UserError):
    """The cache folder cannot be written. Data that needs no cache goes on without one."""


def folder() -> Path:
    """Return the cache folder: NORMEXP_DATA, else `normexp` in the platform's folder for caches."""
    own = os.environ.get("NORMEXP_DATA")
    return Path(os.path.expanduser(own)) if own else _platform_caches() / "normexp"


def key_of_files(root: Path, files: Iterable[Path]) -> str:
    """Return a key that changes when a file under `root` is replaced: its names, sizes and times.

    The place counts too, because archives unpacked with fixed times can agree in all the rest.
    """
    try:
        facts = sorted((file.relative_to(root).as_posix(), file.stat()) for file in files)
    except OSError as error:  # a link to nowhere, for example
        raise UserError(f"{error.filename}: cannot be read ({error.strerror})") from None
    return json.dumps([str(root.resolve()), *((name, s.st_size, s.st_mtime_ns) for name, s in facts)])


def cached(name: str, key: str, build: Callable[[], Content]) -> Content:
    """Open the entry of `name` and `key`; where there is none, build it first.

    Raises UserError for a damaged entry (which is set aside, so that the next call builds it afresh) and
    UnwritableCache, before building, where the cache folder cannot be written.
    """
    entry = _entry(name, key)
    if not holds(name, key):
        _build(entry, build)
    try:
        return _open(entry)
    except OSError as error:
        raise UserError(f"{error.filename or entry}: cannot be read ({error.strerror or error})") from None


def holds(name: str, key: str) -> bool:
    """Tell whether there is an entry of `name` and `key`."""
    return os.path.isdir(_entry(name, key))  # unlike Path.is_dir, no exception for a forbidden folder


def _entry(name: str, key: str) -> Path:
    digest = hashlib.sha256(f"{FORMAT} {key}".encode()).hexdigest()
    return folder() / f"{name}-{digest[:8]}"


def part_path(target: Path) -> Path:
    """Return a temporary sibling's name for `target`, and sweep those that killed processes left behind."""
    for old in target.parent.glob(f".{target.name}.*.part"):
        if time.time() - old.stat().st_mtime > ABANDONED:
            shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink(missing_ok=True)
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")


def set_aside(path: Path) -> Path | None:
    """Rename a damaged file or folder out of the way; None where that is not possible."""
    aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(2)}")
    try:
        path.rename(aside)
    except OSError:
        return None
    return aside


def _platform_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def unwritable(place: Path, error: OSError) -> UnwritableCache:
    """Build the one-line error for a cache folder that cannot be written."""
    reason = error.strerror or str(error)
    return UnwritableCache(f"cannot write to {place}: {reason}; set NORMEXP_DATA to a writable folder")


def _build(entry: Path, build: Callable[[], Content]) -> None:
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        temporary = part_path(entry)
        temporary.mkdir()
    except OSError as error:
        raise unwritable(entry.parent, error) from None
    try:
        content = build()
        _write(temporary, content)
        _publish(temporary, entry)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # there only where something failed


def _write(place: Path, content: Content) -> None:
    try:
        arrays = {name: _write_array(place / f"{name}.npy", array) for name, array in content.arrays.items()}
        manifest = {
            "format": FORMAT,
            "source": content.source,
            "note": content.note,
            "classes": list(content.classes),
            "arrays": arrays,
        }
        with (place / "manifest.json").open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1, ensure_ascii=False)
            _flush(file)
    except OSError as error:
        raise unwritable(place.parent, error) from None


def _write_array(path: Path, array: Array) -> dict[str, Any]:
    """Write one array; return what the manifest says of it."""
    array = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
        _flush(file)
    stat = path.stat()
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "bytes": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        "sha256": _sha256(array),
    }


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sha256(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def _publish(temporary: Path, entry: Path) -> None:
    try:
        temporary.rename(entry)
    except OSError as error:
        if not entry.is_dir():  # otherwise another process was first, with the same content
            raise unwritable(entry.parent, error) from None


def _open(entry: Path) -> Content:
    manifest = _manifest(entry)
    arrays = {name: _open_array(entry, name, facts) for name, facts in manifest["arrays"].items()}
    return Content(arrays, tuple(manifest["classes"]), manifest["note"], manifest["source"])


def _manifest(entry: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((entry / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _damaged(entry, "manifest.json is missing") from None
    except ValueError:
        raise _damaged(entry, "manifest.json is not readable JSON") from None
    missing = {"arrays", "classes", "note", "source"} - set(manifest)
    if missing:
        raise _damaged(entry, f"manifest.json lacks {', '.join(sorted(missing))}")
    return manifest


def _open_array(entry: Path, name: str, facts: Mapping[str, Any]) -> Array:
    """Map one array into memory. A file that was touched since it was built must still have its sha256."""
    path = entry / f"{name}.npy"
    if not path.is_file():
        raise _damaged(entry, f"{path.name} is missing")
    stat = path.stat()
    if stat.st_size != facts["bytes"]:
        raise _damaged(entry, f"{path.name} has {stat.st_size} bytes, expected {facts['bytes']}")
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:
        raise _damaged(entry, f"{path.name} is not a readable .npy file") from None
    if [array.dtype.name, list(array.shape)] != [facts["dtype"], facts["shape"]]:
        found, expected = f"{array.dtype} {array.shape}", f"{facts['dtype']} {tuple(facts['shape'])}"
        raise _damaged(entry, f"{path.name} holds {found}, expected {expected}")
    if stat.st_mtime_ns != facts["mtime_ns"] and _sha256(array) != facts["sha256"]:
        raise _damaged(entry, f"{path.name} has sha256 {_sha256(array)}, expected {facts['sha256']}")
    return array


def _damaged(entry: Path, what: str) -> UserError:
    aside = set_aside(entry)
    way_out = f"it was set aside as {aside.name}; run" if aside else "delete that folder and run"
    return UserError(f"damaged cache entry {entry}: {what}; {way_out} the same command again to rebuild it")
