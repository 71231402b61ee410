"""The files that a report is written into."""

from __future__ import annotations

from pathlib import Path

from normexp.errors import UserError
from normexp.records import write_atomically
from normexp.records.files import made_folder


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, and the folders above it where there are none; return its path.

    Raises UserError if that fails; folders that were made for it are taken back then.
    """
    try:
        with made_folder(path.parent):
            write_atomically(path, content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or type(error).__name__})") from None
    return path
