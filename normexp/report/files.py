"""The files that a report is written into."""

from __future__ import annotations

from pathlib import Path

from normexp.errors import UserError
from normexp.records import write_atomically
from normexp.records.files import make_folder


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, and the folders above it where there are none; return its path. Raises UserError if that fails."""
    try:
        make_folder(path.parent)
        write_atomically(path, content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or type(error).__name__})") from None
    return path
