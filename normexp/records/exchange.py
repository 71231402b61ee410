"""Two folders take each other's name, so that whoever looks for one of them finds it at every moment."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def exchange(one: Path, other: Path, between: Path) -> None:
    """Let two folders exchange their names, in one step where the system and the disk can.

    Args:
        between: a free name, which `other` has for a moment where they cannot.
    """
    if not _in_one_step(one, other):
        other.rename(between)
        one.rename(other)
        between.rename(one)


def _in_one_step(one: Path, other: Path) -> bool:
    """Tell whether it could be done; where it could not, nothing was."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)  # not in every C library
    if rename is None:
        return False
    sys.audit("os.rename", one, other, -1, -1)  # as os.rename does: who watches what becomes of files sees this, too
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
