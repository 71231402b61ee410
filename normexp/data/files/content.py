"""The content of the files that the user brings, as one sha256; cheap where nothing changed since it was taken."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from normexp.data.files.cache import UnwritableCache, folder, part_path
from normexp.data.files.members import files
from normexp.errors import POINTER, UserError, is_pointer

SETTLED = 2.0  # seconds: a file that is younger may change again without a new time of change


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes. Raises UserError for a pointer of Git LFS, which is nobody's data."""
    with path.open("rb") as file:
        if is_pointer(file.read(64)):
            raise UserError(f"{path}: {POINTER}")
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_of(path: Path, kept: Iterable[Path] | None = None) -> str:
    """Return the sha256 of `path`, or of the names and contents of the files below it where it is a folder.

    It does not depend on where the data lie. Raises UserError where a file cannot be read.

    Args:
        kept: the files that count; None for all.
    """
    if path.is_file():
        return content_by_name({"": path})
    below = files(path) if kept is None else kept
    return content_by_name({file.relative_to(path).as_posix(): file for file in below})


def content_by_name(named: Mapping[str, Path], digest: Callable[[Path], str] = sha256_of) -> str:
    """Return the sha256 of named files; of a single one without a name that of its bytes.

    Args:
        digest: what is taken of each file.

    Raises: UserError for a file that cannot be read.
    """
    try:
        facts = [[name, os.path.abspath(file), *_facts(file)] for name, file in sorted(named.items())]
        known = _remembered(facts)
        if known is None:
            each = {name: digest(file) for name, file in sorted(named.items())}
            known = each[""] if list(each) == [""] else hashlib.sha256(json.dumps(each).encode()).hexdigest()
            _remember(facts, known)
    except OSError as error:  # a link to nowhere, for example
        raise UserError(f"{error.filename}: cannot be read ({error.strerror})") from None
    return known


def _facts(file: Path) -> tuple[int, int, int, int]:
    """Return what changes with the content: the time of change (ctime), too, which nobody can set back."""
    stat = file.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns


def _note(facts: list[Any]) -> Path:
    names = json.dumps([fact[:2] for fact in facts])
    return folder() / "content" / f"{hashlib.sha256(names.encode()).hexdigest()[:16]}.json"


def _remembered(facts: list[Any]) -> str | None:
    """Return the sha256 that was taken of these very files; None where one is new, or was written since."""
    try:
        note = json.loads(_note(facts).read_text(encoding="utf-8"))
        return str(note["sha256"]) if note["facts"] == facts else None
    except (OSError, ValueError, KeyError, TypeError, UnwritableCache):
        return None


def _remember(facts: list[Any], sha256: str) -> None:
    """Keep a sha256 for the next time, where the cache can be written and all files have settled."""
    if any(time.time() - max(fact[3], fact[5]) / 1e9 < SETTLED for fact in facts):
        return
    try:
        note = _note(facts)
        note.parent.mkdir(parents=True, exist_ok=True)
        part = part_path(note)
        part.write_text(json.dumps({"facts": facts, "sha256": sha256}), encoding="utf-8")
        os.replace(part, note)
    except (OSError, UnwritableCache):
        return
