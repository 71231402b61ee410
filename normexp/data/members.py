"""The files inside a folder, a zip or a tar, read one by one in memory; nothing is ever extracted."""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from normexp.errors import UserError

CHUNK = 2**20
_DAMAGE = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
)


@dataclass(frozen=True)
class Member:
    """One file: its name relative to the top, its bytes, and how far into the archive reading has come."""

    name: PurePosixPath
    data: bytes
    position: int


def given(option: str, value: str, otherwise: str = "") -> Path:
    """Return the path that an option gives, `~` expanded. Raises UserError where there is nothing.

    Args:
        otherwise: what the user could do instead, for the end of the message.
    """
    path = Path(os.path.expanduser(value))
    if not path.exists():
        raise UserError(f"{option}={value}: no such file or folder{otherwise}")
    return path


def members(path: Path) -> Iterator[Member]:
    """Yield the regular files in `path`, without those that operating systems strew about.

    A folder gives them by name, an archive in its own order. Raises UserError for a damaged archive, for one
    of no known kind, and for a member that points outside.
    """
    read = _folder if path.is_dir() else _zip if _kind(path) == "zip" else _tar
    with _one_line_errors(path):
        for name, data, position in read(path):
            member = Member(PurePosixPath(name.replace("\\", "/")), data, position)
            _check_inside(path, member.name)
            if not _is_litter(member.name):
                yield member


def size(path: Path) -> int:
    """Return the last `position` to expect."""
    return sum(file.stat().st_size for file in files(path)) if path.is_dir() else path.stat().st_size


def files(path: Path) -> list[Path]:
    """Return `path` itself, or the files under a folder, sorted by name, without hidden ones."""
    if not path.is_dir():
        return [path]
    with _one_line_errors(path):
        walk = os.walk(path, followlinks=True, onerror=_raise)
        found = [Path(place, name) for place, _, names in walk for name in names]
    return sorted(file for file in found if not _is_litter(PurePosixPath(file.relative_to(path).as_posix())))


def check_complete(path: Path) -> None:
    """Read a gzip file to its end, so that a truncated one is found before any slow decoding.

    Archives of other kinds pass: a zip has its index at the end, and the rest is checked when read.
    """
    if path.is_dir() or _kind(path) != "gzip":
        return
    with _one_line_errors(path), gzip.open(path) as file:
        while file.read(CHUNK):
            pass


def _raise(error: OSError) -> None:
    raise error


def _kind(path: Path) -> str:
    """Tell a zip, a gzip and a tar apart by their first bytes. Raises UserError for anything else."""
    with _one_line_errors(path):
        with path.open("rb") as file:
            start = file.read(4)
        if start == b"PK\x03\x04":
            return "zip"
        if start[:2] == b"\x1f\x8b":
            return "gzip"
        if tarfile.is_tarfile(path):
            return "tar"
    raise UserError(f"{path}: neither a folder nor a zip, tar or tar.gz archive")


def _folder(path: Path) -> Iterator[tuple[str, bytes, int]]:
    position = 0
    for file in files(path):
        data = file.read_bytes()
        position += len(data)
        yield file.relative_to(path).as_posix(), data, position


def _zip(path: Path) -> Iterator[tuple[str, bytes, int]]:
    position = 0
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            position += info.compress_size
            if not info.is_dir():
                yield info.filename, archive.read(info), position


def _tar(path: Path) -> Iterator[tuple[str, bytes, int]]:
    with path.open("rb") as raw, tarfile.open(fileobj=raw, mode="r|*") as archive:
        for info in archive:
            if info.isfile():
                file = archive.extractfile(info)
                assert file is not None
                yield info.name, file.read(), raw.tell()


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        found = path.stat().st_size
        what = f"damaged or truncated archive of {found} bytes ({error})"
        raise UserError(f"{path}: {what}; get a fresh copy") from None
    except RuntimeError as error:  # zipfile's: encrypted, or compressed in a way of its own
        raise UserError(f"{path}: cannot be read ({error})") from None
    except OSError as error:
        raise UserError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None


def _check_inside(path: Path, name: PurePosixPath) -> None:
    if name.is_absolute() or ".." in name.parts or ":" in str(name).split("/")[0]:
        raise UserError(f"{path}: member {str(name)!r} points outside of the archive, which is refused")


def _is_litter(name: PurePosixPath) -> bool:
    """Tell .DS_Store, ._copy.png and __MACOSX/ from the user's own files."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.parts)
