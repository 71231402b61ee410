"""`records.zip`: the run directories below a folder as one file, which is read like the folder.

Members are stored, not compressed: equal records give equal bytes whatever zlib is installed, a member can never be
larger than the file, and git packs thousands of alike configurations better together than one by one. The first member
is SHA256SUMS; `unzip records.zip && sha256sum -c SHA256SUMS` needs nothing of ours.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from normexp.errors import POINTER, UserError, is_pointer
from normexp.records.files import damaged, open_regular, read_beginning, reading, too_large
from normexp.records.names import STATUS, SUMS
from normexp.records.printable import printable

if TYPE_CHECKING:
    from zipfile import ZipFile

MOST_BYTES = 2**30  # of an archive
MOST_MEMBERS = 2_000_000
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can say
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")

Signature = tuple[int, int, int]
Signatures = dict[Path, Signature | None]


class Foreign(UserError):
    """A zip file that has nothing of ours: somebody calls another thing `records.zip`, too."""


class _Replaced(Exception):
    """A file is not the one that was looked at: another was written in its place meanwhile."""


@dataclass(frozen=True)
class Member:
    """Where one file lies in the archive, and what it must hash to."""

    offset: int
    size: int
    sha256: str


@dataclass(frozen=True)
class Archive:
    """An archive's members by name. Its content is read when it is asked for, and checked then."""

    path: Path
    signature: Signature
    members: Mapping[str, Member] = field(compare=False)
    names: list[str] = field(repr=False, compare=False)  # sorted

    def below(self, folder: str) -> list[str]:
        """Return the names of the members below a folder, `` for all."""
        prefix = f"{folder}/" if folder else ""
        first = bisect_left(self.names, prefix)
        last = bisect_left(self.names, f"{folder}0") if folder else len(self.names)  # 0 comes after /
        return self.names[first:last]

    def runs(self, folder: str = "") -> list[str]:
        """Return the run directories at or below a folder of the archive; as in a folder, none inside another."""
        ending = f"/{STATUS}"
        runs = {name.removesuffix(ending) for name in self.below(folder) if name.endswith(ending)}
        return sorted(name for name in runs if not any(above in runs for above in _above(name)))

    def read(self, name: str, most: int) -> bytes:
        """Return a member's content. Raises FileNotFoundError, or UserError where it is damaged or too large."""
        member = self.members.get(name)
        if member is None:
            raise FileNotFoundError(name)
        if member.size > most:
            raise too_large(self.path, member.size, most, inside=name)
        try:
            with _opened(self.path, self.signature) as file, reading(self.path):
                data = _content(file, member)
        except _Replaced:
            return open_archive(self.path).read(name, most)  # packed again meanwhile
        except ValueError as error:
            raise damaged(self.path, f"{name}: {error}") from None
        if hashlib.sha256(data).hexdigest() != member.sha256:
            raise damaged(self.path, f"{name} does not have its checksum")
        return data


def signature(path: Path | int) -> Signature:
    """Return what changes when a file is replaced."""
    about = os.fstat(path) if isinstance(path, int) else os.lstat(path)  # a link is no archive
    return about.st_ino, about.st_size, about.st_mtime_ns


def signatures(paths: Iterable[Path]) -> Signatures:
    """Return what tells each archive from another in its place; None for one that is gone, or cannot be looked at."""
    found: Signatures = {}
    for path in paths:
        try:
            found[path] = signature(path)
        except OSError:
            found[path] = None
    return found


def open_archive(path: Path) -> Archive:
    """Return an archive. Raises FileNotFoundError, Foreign, or another UserError where it is none, or damaged."""
    while True:
        with reading(path):
            signed = signature(path)
        with suppress(_Replaced):
            if (archive := _indexed(path, signed)) is None:
                told = f"is somebody else's, no archive of runs (it has neither {SUMS} nor {STATUS})"
                raise Foreign(f"{printable(path)}: {told}")
            return archive


def _opened(path: Path, signed: Signature) -> BinaryIO:
    """Open an archive. Raises _Replaced where it is another than was signed."""
    file = os.fdopen(open_regular(path), "rb")
    if signature(file.fileno()) == signed:
        return file
    file.close()
    raise _Replaced


@lru_cache(maxsize=256)
def _indexed(path: Path, signed: Signature) -> Archive | None:
    """Return an archive, None where it has nothing of ours. Raises _Replaced where it is another than was signed."""
    from zipfile import BadZipFile, ZipFile

    if signed[1] > MOST_BYTES:
        raise too_large(path, signed[1], MOST_BYTES)
    if is_pointer(read_beginning(path, 64)):
        raise damaged(path, POINTER)
    try:
        with _opened(path, signed) as file, reading(path), ZipFile(file) as packed:
            if not {SUMS, STATUS} & {name.rpartition("/")[2] for name in packed.namelist()}:
                return None
            entries = _checked(packed)
            if not entries or entries[0][0] != SUMS:
                raise ValueError(f"its first member is not {SUMS}")
            if sum(member.size for _, member in entries) > signed[1]:
                raise ValueError("its members overlap")
            sums = _sums(_content(file, entries[0][1]))
    except (BadZipFile, ValueError, NotImplementedError, IndexError, OverflowError) as error:
        raise damaged(path, error) from None
    places = dict(entries[1:])
    if missing := sums.keys() - places.keys():
        raise damaged(path, f"{min(missing)} is missing")
    if unlisted := places.keys() - sums.keys():
        raise damaged(path, f"{min(unlisted)} is not in {SUMS}")
    members = {name: Member(place.offset, place.size, sums[name]) for name, place in places.items()}
    return Archive(path, signed, members, sorted(members))


def _checked(packed: ZipFile) -> list[tuple[str, Member]]:
    """Return (name, place) of every member. Raises ValueError for one that is no plain stored file."""
    from zipfile import ZIP_STORED

    infos = packed.infolist()
    if len(infos) > MOST_MEMBERS:
        raise ValueError(f"{len(infos):,} members")
    if len({info.filename for info in infos}) < len(infos):
        raise ValueError("two members of one name")
    for info in infos:
        if not is_safe(info.filename):
            raise ValueError(f"a member is called {info.filename!r}")
        if info.compress_type != ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
            raise ValueError(f"{info.filename} is compressed or encrypted; members are stored")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError(f"{info.filename} is not a regular file")
    return [(info.filename, Member(info.header_offset, info.file_size, "")) for info in infos]


def is_safe(name: str) -> bool:
    """Tell whether a member's name stays inside the folder that it is read as, where hidden ones are not looked at."""
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith(".") for part in parts)
    return "/".join(parts) == name and not hidden and "/" not in parts and name.isprintable() and "\\" not in name


def _above(name: str) -> Iterator[str]:
    """Yield the folders in which a folder lies."""
    while name := name.rpartition("/")[0]:
        yield name


def _content(file: BinaryIO, member: Member) -> bytes:
    """Return the bytes of a member, whose header says how much precedes them. Raises ValueError if it is cut off."""
    file.seek(member.offset)
    header = file.read(30)
    if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
        raise ValueError("a member has no header")
    lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    file.seek(member.offset + 30 + lengths)
    data = file.read(member.size)
    if len(data) < member.size:
        raise ValueError("cut off")
    return data


def _sums(data: bytes) -> dict[str, str]:
    """Return {name: checksum}. Raises ValueError for a line of another form."""
    found = [_LINE.fullmatch(line) for line in data.decode("utf-8").splitlines()]
    if None in found:
        raise ValueError(f"{SUMS} is not a list of checksums")
    return {match[2]: match[1] for match in found if match}


def packed(contents: Mapping[str, bytes]) -> bytes:
    """Return the archive of {name: content}. Equal contents give equal bytes.

    Raises: UserError for a name that would leave the folder.
    """
    from zipfile import ZIP_STORED, ZipFile, ZipInfo

    names = sorted(contents)
    unsafe = [name for name in names if not is_safe(name)]
    if unsafe:
        raise UserError(f"{unsafe[0]!r}: a file of this name cannot be packed")
    lines = [f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in names]
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_STORED) as archive:
        for name, content in [(SUMS, "".join(lines).encode()), *((name, contents[name]) for name in names)]:
            info = ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16  # as on Unix, everywhere
            archive.writestr(info, content)
    return out.getvalue()
