"""The commit that a run and a declaration are made with. Without torch: who declares need not train."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import normexp


@cache
def commit() -> str | None:
    """Return the commit of the checkout that this code runs from, with `+` where files differ.

    None in a wheel, and where git does not tell: a commit that may be another one's is worse than none.

    Files of results do not count: an experiment that has ended in this checkout writes its own anew.
    """
    root = Path(normexp.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
        status = ["git", "status", "--porcelain", "--untracked-files=no", "--", ":(exclude)results"]
        dirty = subprocess.run(status, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if dirty.stdout.strip() else "")
