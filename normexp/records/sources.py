"""Where a run directory's files are: in a folder, or in an archive above it. Both are read alike."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import ClassVar, Protocol

from normexp.errors import UserError
from normexp.records.archive import Archive, Foreign, open_archive, signatures
from normexp.records.files import MOST_TEXT, is_there, read_beginning, read_regular, reading
from normexp.records.names import STATUS, archive_name

LEVELS = 6  # folders above a run in which its archive may lie: results/NAME/SCALE/runs/ARM/POINT


class Source(Protocol):
    """The files of one run directory."""

    @property
    def is_packed(self) -> bool: ...

    def is_gone(self) -> bool:
        """Tell whether the run is no longer here: it may have been packed, or moved to another archive."""

    def read(self, name: str, most: int) -> bytes:
        """Return a file's content. Raises FileNotFoundError, or UserError where it is damaged or too large."""

    def beginning(self, name: str, size: int) -> bytes:
        """Return the first bytes of a file. Raises as `read` does."""

    def names(self) -> list[str]:
        """Return the names of the files, sorted; locks and temporary files begin with a dot and are left out."""

    def has(self, name: str) -> bool: ...


@dataclass(frozen=True)
class Folder:
    """A run directory on the disk."""

    path: Path
    is_packed: ClassVar[bool] = False

    def is_gone(self) -> bool:
        return not self.has(STATUS)

    def read(self, name: str, most: int) -> bytes:
        return read_regular(self.path / name, most)

    def beginning(self, name: str, size: int) -> bytes:
        return read_beginning(self.path / name, size)

    def names(self) -> list[str]:
        try:
            with reading(self.path):
                entries = list(os.scandir(self.path))
        except FileNotFoundError:
            return []
        return sorted(
            entry.name
            for entry in entries
            if not entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
        )

    def has(self, name: str) -> bool:
        return is_there(self.path / name)


@dataclass(frozen=True)
class Packed:
    """A run directory in an archive."""

    archive: Archive
    folder: str
    is_packed: ClassVar[bool] = True

    def is_gone(self) -> bool:
        try:
            return f"{self.folder}/{STATUS}" not in open_archive(self.archive.path).members
        except FileNotFoundError:
            return True
        except UserError:  # damaged by now: reading says so
            return False

    def read(self, name: str, most: int) -> bytes:
        return self.archive.read(f"{self.folder}/{name}", most)

    def beginning(self, name: str, size: int) -> bytes:
        return self.read(name, MOST_TEXT)[:size]

    def names(self) -> list[str]:
        below = (name.removeprefix(f"{self.folder}/") for name in self.archive.below(self.folder))
        return [name for name in below if "/" not in name]

    def has(self, name: str) -> bool:
        return f"{self.folder}/{name}" in self.archive.members


@dataclass(frozen=True)
class Broken:
    """An archive that cannot be read, in the place of the runs that it holds."""

    error: UserError = field(compare=False)
    is_packed: ClassVar[bool] = True

    def is_gone(self) -> bool:
        return False

    def read(self, name: str, most: int) -> bytes:
        raise self.error

    def beginning(self, name: str, size: int) -> bytes:
        raise self.error

    def names(self) -> list[str]:
        return [STATUS]

    def has(self, name: str) -> bool:
        return name == STATUS


@dataclass(frozen=True)
class Held:
    """A run directory of which some files were read already, and do not change."""

    behind: Source
    files: Mapping[str, bytes] = field(repr=False, compare=False)

    @property
    def is_packed(self) -> bool:
        return self.behind.is_packed

    def is_gone(self) -> bool:
        return self.behind.is_gone()

    def read(self, name: str, most: int) -> bytes:
        return self.files[name] if name in self.files else self.behind.read(name, most)

    def beginning(self, name: str, size: int) -> bytes:
        return self.files[name][:size] if name in self.files else self.behind.beginning(name, size)

    def names(self) -> list[str]:
        return self.behind.names()

    def has(self, name: str) -> bool:
        return name in self.files or self.behind.has(name)


def source_of(path: Path) -> Source:
    """Return the files of the run directory at `path`: the folder where it has a status, else an archive's, if any.

    Where an archive is written or moved while it is looked for, it is looked for again.
    """
    folder = Folder(path)
    while not folder.has(STATUS):
        before = signatures(archive for archive, _ in archives_above(path))
        if (packed := _packed(path)) is not None:
            return packed
        if before == signatures(archive for archive, _ in archives_above(path)):
            break
    return folder


def _packed(path: Path) -> Packed | Broken | None:
    """Return the files of a run directory in the nearest archive that has it; None where none has."""
    for archive, inside in archives_above(path):
        try:
            opened = open_archive(archive)
        except (FileNotFoundError, Foreign):
            continue
        except UserError as error:
            return Broken(error)
        if f"{inside}/{STATUS}" in opened.members:
            return Packed(opened, inside)
    return None


def archives_above(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the archives in the folders above a path, nearest first, with the path as each would name it.

    Of a path into an archive, as what it holds is called where that has a name of its own, this archive alone.
    """
    parts: list[str] = []
    for _ in range(LEVELS):
        if not path.name:
            return
        parts.insert(0, path.name)
        path = path.parent
        if path.suffix == ".zip" and path.is_file():
            yield path, "/".join(parts)
            return
        for archive in archives_in(path):
            yield archive, "/".join(parts)


def archives_in(folder: Path) -> Iterator[Path]:
    """Yield the parts of a folder's archive, which are numbered without a gap.

    Raises UserError where it cannot be known just now whether there is one.
    """
    for part in count(1):
        path = folder / archive_name(part)
        if not is_there(path) or os.path.isdir(path):
            return
        yield path
