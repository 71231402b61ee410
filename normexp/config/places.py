"""The path that `results_dir`, or an option of data, means, whoever gives it: a command line, a file or Python."""

from __future__ import annotations

import os
import re

from normexp.config.text import shortened
from normexp.errors import UserError

_VARIABLE = re.compile(r"\$\{|(?:^|/)\$[A-Za-z_]")  # what a shell or OmegaConf would fill in


def place(key: str, value: str) -> str:
    """Return a path with its `~` expanded.

    Raises UserError for a user that there is not, and for a variable that nobody has filled in: results would lie in
    a folder of the variable's name. What is there may have any name.
    """
    path = os.path.expanduser(value)
    if path.startswith("~"):
        raise UserError(f"{shortened(f'{key}={value}')}: there is no user {value.partition('/')[0][1:]!r} here")
    if _VARIABLE.search(path) and not os.path.lexists(path):
        raise UserError(f"{shortened(f'{key}={value}')}: a variable is not filled in here: write the path")
    return path
