"""The errors that a user sees as one line on standard error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user gave cannot work: a name, a value, a file. The message is one complete line."""


class Busy(UserError):
    """Another process is running this very run; it will be finished without us."""


class Impossible(UserError):
    """Every value is allowed, but together they cannot work; a sweep leaves such a cell out and says why."""


class Unavailable(UserError):
    """Data that are needed cannot be had, so nothing was started; the message has a line for each."""


class Interrupted(Exception):
    """The user asked to stop; the run is saved and continues when it is started again."""


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return `; did you mean X?` for the closest allowed name, whatever its case, or the empty string."""
    by_case = {word.casefold(): word for word in allowed}
    close = difflib.get_close_matches(name.casefold(), list(by_case), n=1, cutoff=0.5)
    return f"; did you mean {by_case[close[0]]}?" if close else ""


def unknown(kind: str, name: str, allowed: Iterable[str]) -> UserError:
    """Build the one-line error for a name that is none of `allowed`."""
    names = list(allowed)
    return UserError(f"{kind} {name!r} does not exist; allowed: {', '.join(names)}{nearest(name, names)}")
