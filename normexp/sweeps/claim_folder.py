"""The folder of claims on a disk: what `protocol` asks for, by operations that are atomic on network file systems too.

A new name is made by `link`, which fails where the name exists and shows the whole content or nothing; a server that
loses its answer is asked again by reading whose content is there. Where there are no links, exclusive creation has to
do: a reader may then see an empty file, which belongs to nobody. Content is replaced by `rename`; nothing is locked.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from normexp.records.files import make_folder, read_regular, unwritable

BLOCK = 256  # cells whose claims share a folder, so that no listing grows with the sweep
MOST = 100_000  # bytes of a claim, a mark or a worker's file


class ClaimFolder:
    """Claims and marks in `claims/BLOCK/`, what workers say of themselves in `workers/`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, name: str, content: str) -> bool:
        path = self._path(name)
        temporary = self._write_beside(path, content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return self.read(name) == content
        except OSError:
            return _create_exclusively(path, content) or self.read(name) == content
        finally:
            temporary.unlink(missing_ok=True)
        return True

    def replace(self, name: str, content: str) -> None:
        path = self._path(name)
        temporary = self._write_beside(path, content)
        try:
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def read(self, name: str) -> str | None:
        try:
            return read_regular(self._path(name), MOST).decode("utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Remove the file of a worker that ends; claims and marks stay."""
        self._path(name).unlink(missing_ok=True)

    def claims(self, block: int) -> list[str]:
        """Return the names of the claims and marks of one block of cells."""
        return self._names(self._block(block))

    def workers(self) -> list[str]:
        """Return the names of the workers that have a file: those at work, and those that ended without a word."""
        return sorted(
            name.removesuffix(".json") for name in self._names(self.path / "workers") if name.endswith(".json")
        )

    def _names(self, folder: Path) -> list[str]:
        try:
            return [name for name in os.listdir(folder) if not name.startswith(".")]
        except FileNotFoundError:
            return []

    def _block(self, block: int) -> Path:
        return self.path / "claims" / f"{block:05}"

    def _path(self, name: str) -> Path:
        cell = name.partition(".")[0]
        return self._block(int(cell) // BLOCK) / name if cell.isdecimal() else self.path / "workers" / name

    def _write_beside(self, path: Path, content: str) -> Path:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            _write_new(temporary, content)
        except FileNotFoundError:  # the first of its block
            make_folder(path.parent)
            _write_new(temporary, content)
        return temporary


def _write_new(path: Path, content: str) -> None:
    """Make a file; a part of one does not stay. Raises FileExistsError, FileNotFoundError, or UserError."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            _write_or_remove(file, path, content)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError as error:
        raise unwritable(path.parent, error) from None


def _write_or_remove(file: TextIO, path: Path, content: str) -> None:
    try:
        file.write(content)
        file.flush()
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _create_exclusively(path: Path, content: str) -> bool:
    with suppress(FileExistsError):
        _write_new(path, content)
        return True
    return False
