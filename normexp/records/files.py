"""Opening files that somebody else may have put there. Every file of a run directory is read through here.

A file is opened without following a link and without waiting for a writer; it must be a regular file of bounded size.
Anything else is one UserError, `FILE: damaged (what)`. What a disk, a network, a right or the memory keeps from being
read is not damaged: `FILE: cannot be read (why)`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from normexp.errors import POINTER, NoRoom, UserError, is_pointer
from normexp.records.fences import check_fence
from normexp.records.names import DAMAGED, UNREADABLE
from normexp.records.parsing import json_object
from normexp.records.printable import printable

MOST_TEXT = 4 * 2**20  # bytes of a JSON or YAML file
ORDINARY = 2**16  # bytes of a file that a run should have room for
MOST_ROWS = 32 * 2**20  # bytes of a CSV file,
MOST_TABLE = 2**30  # and of one that is hashed, or of a run that goes on
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
_NO_FILE = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EINVAL)  # whoever asks again
_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")


class Damaged(UserError):
    """A file is not what it should be."""


class TooLarge(Damaged):
    """A file has more bytes than are read of it."""


class Unreadable(UserError):
    """A file cannot be read just now, and may be sound: nothing is done to it."""


def damaged(path: Path, what: object) -> Damaged:
    """Build the error for a file that is not what it should be."""
    return Damaged(f"{printable(path)}: damaged ({printable(what)})")


def too_large(path: Path, size: int, most: int, inside: str = "") -> TooLarge:
    """Build the error for a file, or for a part of it, that has more bytes than are read of it."""
    of = f"{inside} has " if inside else ""
    return TooLarge(f"{printable(path)}: too large to be read ({printable(of)}{size:,} bytes, at most {most:,} are)")


def unreadable(path: Path, error: OSError | MemoryError) -> Unreadable | Damaged:
    """Build the error for a file that the system does not read: it is damaged where that will always be so."""
    if isinstance(error, MemoryError):
        return Unreadable(f"{printable(path)}: cannot be read (it is more than the memory holds)")
    if error.errno == errno.ELOOP and os.path.islink(path):
        return damaged(path, "it is a link")
    if error.errno in _NO_FILE:
        return damaged(path, error.strerror)
    return Unreadable(f"{printable(path)}: cannot be read ({printable(error.strerror)})")


def condition(error: UserError) -> str:
    """Return what is said of a run at which a reader meets with an error: `damaged`, or `unreadable`."""
    return UNREADABLE if isinstance(error, Unreadable | TooLarge) else DAMAGED


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise what keeps a file or a folder from being read as `unreadable` does, but for FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, MemoryError) as error:
        raise unreadable(path, error) from None


def is_there(path: Path) -> bool:
    """Tell whether something has this path. Raises UserError where that cannot be known just now."""
    try:
        os.lstat(path)
    except ValueError:  # no name that a file could have
        return False
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise unreadable(path, error) from None
    return True


def open_regular(path: Path, flags: int = _READING) -> int:
    """Open a regular file that is no link; return the descriptor.

    Raises: FileNotFoundError, NoRoom where it is to be made on a full disk, or UserError for whatever else there is.
    """
    try:
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG and not flags & os.O_CREAT:
            raise FileNotFoundError(error.errno, error.strerror, str(path)) from None  # none has such a name
        refused = flags & os.O_CREAT and error.errno not in _NO_FILE
        raise (unwritable if refused else unreadable)(path, error) from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise damaged(path, "not a regular file")


def read_regular(path: Path, most: int) -> bytes:
    """Return a regular file's content of at most `most` bytes.

    Raises: FileNotFoundError, or UserError for a link, anything that is no regular file, and a file that is larger.
    """
    with os.fdopen(open_regular(path), "rb") as file, reading(path):
        data = file.read(_size(path, file, most))  # what is appended meanwhile belongs to the next look
    if is_pointer(data):
        raise damaged(path, POINTER)
    return data


def sha256_of(path: Path, most: int) -> str:
    """Return the sha256 of a regular file, which is read in parts. Raises as `read_regular` does."""
    with os.fdopen(open_regular(path), "rb") as file, reading(path):
        _size(path, file, most)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path, file: BinaryIO, most: int) -> int:
    size = os.fstat(file.fileno()).st_size
    if size > most:
        raise too_large(path, size, most)
    return size


def read_beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a regular file. Raises FileNotFoundError, or UserError."""
    with os.fdopen(open_regular(path), "rb") as file, reading(path):
        return file.read(size)


def cut(path: Path, size: int) -> None:
    """Drop what a regular file, if it is there, has behind its first bytes. Raises as `open_regular` does."""
    with suppress(FileNotFoundError), os.fdopen(open_regular(path, _READING | os.O_RDWR), "r+b") as file:
        if os.fstat(file.fileno()).st_size > size:
            check_fence()
            file.truncate(size)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file. Raises FileNotFoundError, or UserError for any other content."""
    try:
        return json_object(read_regular(path, MOST_TEXT))
    except ValueError as error:
        raise damaged(path, error) from None


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write under a temporary name, flush to the disk, rename: a killed process leaves the old file or the new.

    A link in the file's place is replaced, not followed. Bytes in a name that are no UTF-8 are written as escapes. Who
    may read the file is what the user's umask says, as with any new file.
    A folder that cannot be written is a UserError, unless the file is there already with this content; so is one that
    stands in the file's place.
    """
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    name = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(name, _WRITING, 0o666)
    except OSError as error:
        if _holds(path, data):
            return
        raise unwritable(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        check_fence()  # last of all: what was slow lies behind us
        os.replace(name, path)
    except BaseException as error:
        name.unlink(missing_ok=True)
        if isinstance(error, OSError) and (is_full(error) or isinstance(error, IsADirectoryError)):
            raise unwritable(path, error) from None
        raise


def quarantine(path: Path) -> None:
    """Rename a file to NAME.damaged, out of the way of the run that begins again."""
    if os.path.lexists(path):
        check_fence()
        path.rename(f"{path}.damaged")


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there. Raises UserError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        wrong = next(each for each in (folder, *folder.parents) if os.path.lexists(each) and not each.is_dir())
        what = "a file, not a folder" if wrong.exists() else "a link that leads nowhere"
        raise UserError(f"{printable(wrong)} is {what}") from None
    except OSError as error:
        raise unwritable(folder, error) from None


@contextmanager
def made_folder(folder: Path) -> Iterator[bool]:
    """Make a folder as `make_folder` does, and tell whether it was not there; take back what stays empty."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        make_folder(folder)
        yield bool(made)
    finally:
        remove_empty(made)


def folder_above(path: Path) -> Path:
    """Return the folder in which a path lies; of `.` and `..`, which to pathlib lie in `.`, the whole path's."""
    return absolute(path).parent if path.name in ("", "..") else path.parent


def absolute(path: Path) -> Path:
    """Return the whole path, without `..`; links stay as they were named."""
    return Path(os.path.abspath(path))


def is_full(error: OSError) -> bool:
    """Tell whether there is no room for a file: on the disk, in the user's share of it, or by a limit."""
    return error.errno in _FULL


def unwritable(path: Path, error: OSError) -> UserError:
    """Build the error for a file or a folder that cannot be written: NoRoom where that is all that is missing."""
    what = f"{printable(path)}: cannot be written ({error.strerror})"
    return NoRoom(f"{what}; once there is room, the same command goes on") if is_full(error) else UserError(what)


def no_room(folder: Path) -> str:
    """Return the line that says that a folder's disk is full; nothing where a file of ordinary size has room."""
    trial = folder / ".room"
    try:
        write_atomically(trial, bytes(ORDINARY))
        trial.unlink(missing_ok=True)
    except (OSError, UserError) as error:
        return str(error) if isinstance(error, NoRoom) else ""
    return ""


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, from within outwards, but for those in which something is."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def is_older(path: str | os.PathLike[str], seconds: float) -> bool:
    """Tell whether so many seconds have passed since a file, a link or a folder's list of files was last written."""
    return time.time() - os.lstat(path).st_mtime >= seconds


def sweep_temporaries(folder: Path, older: float = 0.0, of: str = "") -> None:
    """Delete what killed processes left half-written in a folder.

    Args:
        older: seconds; younger files may be somebody's who still writes. Whoever holds the folder's lock needs none.
        of: the file that was written; of all where it is not given.
    """
    with os.scandir(folder) as entries:
        found = [each for each in entries if _TEMPORARY.fullmatch(each.name) and each.name.startswith(f".{of}")]
    for entry in found:
        with suppress(FileNotFoundError):  # whoever wrote it has renamed it by now
            if entry.is_file(follow_symlinks=False) and is_older(entry, older):
                os.unlink(entry)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_regular(path, len(data)) == data
    except (OSError, UserError):
        return False
