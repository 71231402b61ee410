"""Which names a folder of results may have, on every file system."""

from __future__ import annotations

from normexp.config.text import amount

MOST_BYTES = 200  # of UTF-8; file systems take 255


def folder_problem(name: str) -> str:
    """Say why no folder may be called so; nothing where one may.

    `..` is the folder above, and a name of no signs is no folder of its own.
    """
    if not name.strip(". "):
        return f"{name!r} is none; it needs a letter or a digit"
    length = len(name.encode(errors="surrogateescape"))
    return f"it would have {amount(length, 'byte')}, at most {MOST_BYTES}" if length > MOST_BYTES else ""
