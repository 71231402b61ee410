"""The cache: what was downloaded or decoded once, as arrays that open at once.

One entry is one safetensors file `NAME-KEY8.safetensors`: the arrays, memory-mapped when opened, and in its metadata
where they came from and their sha256. An entry appears by one rename, so a killed build leaves no half entry and
two builders cannot mix.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from normexp.config.places import place
from normexp.data.base import Array, Split, empty_like
from normexp.errors import UserError
from normexp.records.files import is_older
from normexp.records.locks import Owner

ABANDONED = 24 * 3600.0  # seconds after which temporary files of another machine belong to nobody
DTYPES = {"U8": np.uint8, "I64": np.int64, "F32": np.float32}


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
            return empty_like(self.split("train"))
        return Split(self.arrays[f"{name}_x"], self.arrays[f"{name}_y"])


class UnwritableCache(UserError):
    """The cache folder cannot be written. Data that needs no cache goes on without one."""


def folder() -> Path:
    """Return the cache folder: NORMEXP_DATA, else `normexp` in the platform's folder for caches.

    Raises UnwritableCache for a path as `place` refuses it, and where it is in a home folder, and there is none: ~ and
    $HOME would be folders of the current one.
    """
    from platformdirs import user_cache_path

    own = os.environ.get("NORMEXP_DATA")
    try:
        found = Path(place("NORMEXP_DATA", own)) if own else user_cache_path("normexp", appauthor=False)
    except UserError as error:
        raise UnwritableCache(str(error)) from None
    except RuntimeError:  # newer versions say it themselves
        found = Path("~")
    if found.parts[:1] == ("~",):
        raise UnwritableCache("there is no home folder for data; set NORMEXP_DATA to a writable folder")
    return found


def downloads(name: str) -> Path:
    """Return the folder of what was downloaded for a data set."""
    return folder() / "downloads" / name


def cached(name: str, key: str, build: Callable[[], Content]) -> Content:
    """Open the entry of `name` and `key`; where there is none, build it first.

    Raises UserError for a damaged entry (which is set aside, so that the next call builds it afresh) and
    UnwritableCache, before building, where the cache folder cannot be written.
    """
    entry = _entry(name, key)
    if not os.path.isfile(entry):
        _build(entry, key, build)
    try:
        return _open(entry)
    except OSError as error:
        raise UserError(f"{error.filename or entry}: cannot be read ({error.strerror or error})") from None


def holds(name: str, key: str) -> bool:
    """Tell whether there is an entry of `name` and `key`."""
    return os.path.isfile(_entry(name, key))


def newest(name: str) -> str | None:
    """Return the key of the entry of `name` that was built last; None where there is none that can be read."""
    try:
        entries = sorted(folder().glob(f"{name}-*.safetensors"), key=lambda path: path.stat().st_mtime)
        return str(_about(entries[-1])["key"]) if entries else None
    except (OSError, ValueError, KeyError, UnwritableCache):
        return None


def part_path(target: Path) -> Path:
    """Return a temporary sibling's name for `target`, and sweep those that killed processes left behind."""
    for old in target.parent.glob(f".{target.name}.*.part"):
        with suppress(FileNotFoundError):  # another process sweeps, too, or has come to its end
            if _is_left_behind(old, target):
                shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink()
    own = Owner.this()
    return target.with_name(f".{target.name}.{own.host}-{own.pid}-{own.began}-{secrets.token_hex(4)}.part")


def _is_left_behind(part: Path, target: Path) -> bool:
    """Tell whether a temporary file belongs to nobody: its process has ended or, on another machine, a day is over."""
    named = re.fullmatch(r"(.+)-(\d+)-(\w*)-\w+\.part", part.name.removeprefix(f".{target.name}."))
    owner = Owner(named[1], int(named[2]), named[3]) if named else None
    if owner and owner.is_here:
        return owner != Owner.this() and not owner.lives(0.0)
    return is_older(part, ABANDONED)


def set_aside(path: Path) -> Path | None:
    """Rename a damaged file or folder out of the way; None where that is not possible."""
    aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(2)}")
    try:
        path.rename(aside)
    except OSError:
        return None
    return aside


def unwritable(place: Path, error: OSError) -> UnwritableCache:
    """Build the one-line error for a cache folder that cannot be written."""
    reason = error.strerror or str(error)
    return UnwritableCache(f"cannot write to {place}: {reason}; set NORMEXP_DATA to a writable folder")


def _entry(name: str, key: str) -> Path:
    return folder() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.safetensors"


def _build(entry: Path, key: str, build: Callable[[], Content]) -> None:
    """Write what `build` returns under a temporary name, flush it to the disk and rename it."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        part = part_path(entry)
        part.touch()
    except OSError as error:
        raise unwritable(entry.parent, error) from None
    try:
        data = _serialized(build(), key)
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(entry)  # another process may have been first, with the same content
        except OSError as error:
            raise unwritable(entry.parent, error) from None
    finally:
        part.unlink(missing_ok=True)  # there only where something failed


def _serialized(content: Content, key: str) -> bytes:
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in content.arrays.items()}
    about = {
        "key": key,
        "source": content.source,
        "note": content.note,
        "classes": content.classes,
        "sha256": _sha256(arrays),
    }
    return bytes(save(arrays, metadata={"about": json.dumps(about)}))


def _sha256(arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def _open(entry: Path) -> Content:
    """Map an entry's arrays into memory. Raises UserError where they are not what was written."""
    try:
        about, arrays = _about(entry), _mapped(entry)
        content = Content(arrays, tuple(about["classes"]), about["note"], about["source"])
        found, expected = _sha256(arrays), about["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(entry, f"not readable ({' '.join(str(error).split())})") from None
    if found != expected:
        raise _damaged(entry, f"sha256 {found}, expected {expected}")
    return content


def _about(entry: Path) -> dict[str, Any]:
    """Return an entry's metadata. Raises ValueError where the file is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(entry, framework="np") as file:
            about: dict[str, Any] = json.loads((file.metadata() or {})["about"])
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    return about


def _mapped(entry: Path) -> dict[str, Array]:
    """Return the arrays of a file whose header safetensors has checked, none of them in memory yet."""
    with entry.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__")
    whole = np.memmap(entry, np.uint8, "r", offset=8 + size)
    return {
        name: whole[slice(*facts["data_offsets"])].view(DTYPES[facts["dtype"]]).reshape(facts["shape"])
        for name, facts in header.items()
    }


def _damaged(entry: Path, what: str) -> UserError:
    aside = set_aside(entry)
    way_out = f"it was set aside as {aside.name}; run" if aside else "delete that file and run"
    return UserError(f"damaged cache entry {entry}: {what}; {way_out} the same command again to rebuild it")
