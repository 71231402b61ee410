"""The path that `results_dir`, or an option of data, means, whoever gives it: a command line, a file or Python."""

from __future__ import annotations

import os
import re

from normexp.config.text import shortened
from normexp.errors import UserError

_VARIABLE = re.compile(r"\$\{|(?:^|/)\$[A-Za-z_]")  # what a shell or OmegaConf would fill in
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+://")  # of another machine; C:\ is a folder of this one


def at_home(path: str) -> str:
    """Return a path that Python is given with its `~` expanded, as a shell does; what has that very name stays."""
    return path if os.path.lexists(path) else os.path.expanduser(path)


def place(key: str, value: str) -> str:
    """Return a path with its `~` expanded.

    Raises UserError for a user that there is not, for a variable that nobody has filled in, and for an address of
    another machine: results would lie in a folder of that name here. What is there may have any name.
    """
    path = os.path.expanduser(value)
    if path.startswith("~"):
        user = value.partition("/")[0][1:]
        lacking = f"is no user {user!r} here" if user else "is no home folder here; write the path"
        raise UserError(f"{shortened(f'{key}={value}')}: there {lacking}")
    if os.path.lexists(path):
        return path
    if _VARIABLE.search(path):
        raise UserError(f"{shortened(f'{key}={value}')}: a variable is not filled in here: write the path")
    if _ADDRESS.match(path):
        raise UserError(f"{shortened(f'{key}={value}')}: must be a path of this machine; mount what lies elsewhere")
    return path
