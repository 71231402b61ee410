"""The files inside a folder, a zip or a tar, read one by one in memory and within bounds; nothing is ever extracted."""

from __future__ import annotations

import gzip
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal, NoReturn, Self

from normexp.config.places import place
from normexp.errors import UserError, nearest_file, nearest_path

GZIP = b"\x1f\x8b"  # the first bytes of what is gzipped
CHUNK = 2**20
LARGEST = 64 * 2**20  # bytes of one file that is read; those of CIFAR-10 have 30 MB, an image has less
MOST = 64 * 2**30  # bytes that a whole archive may unpack to
BOMB = 200  # times its size: no images and no texts pack as well
_DAMAGE = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
)

Kind = Literal["file", "folder", "link"]


@dataclass(frozen=True)
class Member:
    """One file, or a folder that an archive names.

    Args:
        name: relative to the top.
        size: bytes that reading takes, as the archive's own index says; no more are ever read.
        position: how far into the archive this file reaches.
        open: what reads it; in an archive only before the next member is asked for.
        kind: links are those of an archive, which lead to nothing; in a folder they are what they lead to.
    """

    path: Path
    name: PurePosixPath
    size: int
    position: int
    open: Callable[[], bytes]
    kind: Kind = "file"

    def read(self) -> bytes:
        """Return the content. Raises UserError for a damaged one, and for one that is larger than LARGEST."""
        if self.size > LARGEST:
            size, most = spoken_size(self.size), spoken_size(LARGEST)
            raise UserError(f"{self.path}: {str(self.name)!r} unpacks to {size}, at most {most} are read")
        with _one_line_errors(self.path):
            return self.open()


def existing_path(option: str, value: str, otherwise: str = "") -> Path:
    """Return the path that an option gives, as `place` does. Raises UserError where there is nothing.

    Args:
        otherwise: what the user could do instead, for the end of the message.
    """
    path = Path(place(option, value))
    if not path.exists():
        raise UserError(f"{option}={value}: no such file or folder{otherwise or nearest_path(path)}")
    if not path.is_file() and not path.is_dir():
        raise UserError(f"{option}={value}: is neither a regular file nor a folder")
    return path


def existing_file(value: str, suffix: str, what: str) -> Path:
    """Return the path of the file that `dataset.file` gives, as `place` does.

    Args:
        suffix: of files of this kind, which are near a name that does not exist.
        what: `a CSV file`.

    Raises: UserError where there is no such file, with the nearest name beside it.
    """
    path = Path(place("dataset.file", value))
    if path.is_file():
        return path
    if path.exists():
        kind = "a folder" if path.is_dir() else "no regular file"
        raise UserError(f"dataset.file={value}: is {kind}, and {what} is needed")
    if path.is_symlink():
        raise UserError(f"dataset.file={value}: a link that leads to no file")
    raise UserError(f"dataset.file={value}: no such file{nearest_file(path, suffix)}")


def members(path: Path) -> Iterator[Member]:
    """Yield the files among the `entries` of `path`."""
    return (entry for entry in entries(path) if entry.kind == "file")


def entries(path: Path) -> Iterator[Member]:
    """Yield the regular files in `path`, without those that operating systems strew about. Nothing is read yet.

    A folder gives them by name, an archive in its own order, and the folders that it names, too. Raises UserError for a
    damaged archive, for one of no known kind or that unpacks to more than anybody's data, for a member that points
    outside, and for a link in an archive: what it leads to, be it a folder, would be missing.
    """
    read = _folder if path.is_dir() else _zip if _kind(path) == "zip" else _tar
    total = 0
    with _one_line_errors(path):
        for entry in read(path):
            _check_inside(path, entry.name)
            total += entry.size
            if total > MOST:
                raise UserError(f"{path}: unpacks to more than {spoken_size(MOST)}, which is refused")
            if is_litter(entry.name):
                continue
            if entry.kind == "link":
                entry.open()
            yield entry


def spoken_size(count: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, size in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"


def size(path: Path) -> int:
    """Return the last `position` to expect."""
    return sum(file.stat().st_size for file in files(path)) if path.is_dir() else path.stat().st_size


def files(path: Path) -> list[Path]:
    """Return `path` itself, or the files under a folder, sorted by name, without hidden ones.

    Raises: UserError for what is no file, as a pipe, and a folder that cannot be read.
    """
    if not path.is_dir():
        return [path]
    with _one_line_errors(path):
        found = []
        for directory, folders, names in os.walk(path, followlinks=True, onerror=_raise):
            _check_no_loop(Path(directory), folders)
            found += [Path(directory, name) for name in names]
    kept = sorted(file for file in found if not is_litter(PurePosixPath(file.relative_to(path).as_posix())))
    if odd := next((file for file in kept if file.exists() and not file.is_file()), None):
        raise UserError(f"{odd}: cannot be read (not a regular file)")  # a pipe would be waited for
    return kept


def _check_no_loop(directory: Path, folders: Iterable[str]) -> None:
    """Raise UserError for a link that leads to a folder that it is in: it would be walked again and again."""
    for link in (directory / name for name in folders):
        if link.is_symlink() and directory.resolve().is_relative_to(link.resolve()):
            raise UserError(f"{link}: is a link to a folder that it is in")


def check_complete(path: Path) -> None:
    """Read a gzip file to its end, so that a truncated one is found before any slow decoding.

    Archives of other kinds pass: a zip has its index at the end, and the rest is checked when read.

    Raises: UserError for one that is damaged, or unpacks to far more than any data would.
    """
    if path.is_dir() or _kind(path) != "gzip":
        return
    done, most = 0, max(LARGEST, BOMB * path.stat().st_size)
    with _one_line_errors(path), gzip.open(path) as file:
        while chunk := file.read(CHUNK):
            done += len(chunk)
            if done > most:
                raise UserError(f"{path}: unpacks to more than {BOMB} times its size, which is refused")


def text_of(data: bytes, name: str) -> str:
    """Return what a file holds as text. Raises UserError, with `name`, for one that holds something else."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{name}: not a text ({len(data)} bytes); get a fresh copy") from None


def _raise(error: OSError) -> None:
    raise error


def _kind(path: Path) -> str:
    """Tell a zip, a gzip and a tar apart by their first bytes. Raises UserError for anything else."""
    with _one_line_errors(path):
        with path.open("rb") as file:
            start = file.read(4)
        if start == b"PK\x03\x04":
            return "zip"
        if start.startswith(GZIP):
            return "gzip"
        if tarfile.is_tarfile(path):
            return "tar"
    raise UserError(f"{path}: neither a folder nor a zip, tar or tar.gz archive")


def _folder(path: Path) -> Iterator[Member]:
    position = 0
    for file in files(path):
        size = file.stat().st_size
        position += size
        yield Member(path, PurePosixPath(file.relative_to(path).as_posix()), size, position, file.read_bytes)


def _zip(path: Path) -> Iterator[Member]:
    position = 0
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            position += info.compress_size
            link = stat.S_ISLNK(info.external_attr >> 16)
            way = "; pack what it leads to (zip without --symlinks)"
            read = partial(_refused, path, info.filename, way) if link else partial(archive.read, info)
            kind: Kind = "link" if link else "folder" if info.is_dir() else "file"
            yield Member(path, _name(info.filename), info.file_size, position, read, kind)


def _tar(path: Path) -> Iterator[Member]:
    with path.open("rb") as raw, tarfile.open(fileobj=raw, mode="r|*", tarinfo=_Header) as archive:
        for info in archive:
            if info.issparse():
                raise UserError(f"{path}: {info.name!r} is a sparse file, which is refused; pack it without holes")
            link = info.issym() or info.islnk()
            way = "; pack what it leads to (tar --dereference --hard-dereference)" if link else ""
            read = partial(_extracted, archive, info) if info.isfile() else partial(_refused, path, info.name, way)
            kind: Kind = "link" if info.issym() else "folder" if info.isdir() else "file"
            yield Member(path, _name(info.name), info.size, raw.tell(), read, kind)


class _Header(tarfile.TarInfo):
    """What stands before a member of a tar."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Raise ReadError for a damaged header, and for none: tarfile takes both for the end, which blocks of 0 are."""
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf and not any(buf):
                raise
            raise tarfile.ReadError(str(error)) from None


def _extracted(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    assert file is not None
    return file.read()


def _refused(path: Path, name: str, way: str) -> NoReturn:
    """Raise UserError for a link, a pipe or a device: skipped, what a folder has behind it would be missing."""
    raise UserError(f"{path}: {name!r} is no regular file{way}")


def _name(name: str) -> PurePosixPath:
    return PurePosixPath(name.replace("\\", "/"))


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


def is_litter(name: PurePosixPath) -> bool:
    """Tell what file managers leave (.DS_Store, ._copy.png, __MACOSX/, Thumbs.db) from the user's own files."""
    return any(part.startswith(".") or part in ("__MACOSX", "Thumbs.db", "desktop.ini") for part in name.parts)
