"""The curves that a checkpoint counts on: a checkpoint beside others is of another run, or they were changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from normexp.records import METRICS, MOST_TABLE, PROBES, damaged
from normexp.records.files import cut, sha256_of
from normexp.records.sources import Source, source_of


def known_curves(folder: Path) -> dict[str, list[object]]:
    """Return {file: [bytes, sha256]} of a run's curves as they are."""
    return {name: [(path := folder / name).stat().st_size, sha256_of(path, MOST_TABLE)] for name in (METRICS, PROBES)}


def check_curves(folder: Path, curves: Mapping[str, list[object]]) -> None:
    """Raise UserError if the curves do not begin as a checkpoint knows them; a run that is packed left it behind."""
    source = source_of(folder)
    for name, known in curves.items():
        if _beginning(source, name, known[0]) != known:
            raise damaged(folder / name, "it is not as the checkpoint, which continues it, knows it")


def cut_curves(folder: Path, curves: Mapping[str, list[object]]) -> None:
    """Cut the curves behind what a checkpoint knows of them.

    What follows is measured again; a row that a worker which was suspended appends late may be of a step before.
    """
    for name, (size, _) in curves.items():
        if isinstance(size, int):
            cut(folder / name, size)


def _beginning(source: Source, name: str, size: object) -> list[object]:
    """Return [bytes, sha256] of a file's first bytes; of one that is not there, of nothing."""
    try:
        content = source.read(name, MOST_TABLE)[: size if isinstance(size, int) else None]
    except FileNotFoundError:
        content = b""
    return [len(content), hashlib.sha256(content).hexdigest()]
