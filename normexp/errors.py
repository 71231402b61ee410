"""The errors that a user sees as one line on standard error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 100  # characters of a wrong name that an error repeats and compares


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


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Return the closest allowed name, whatever its case; None where none is close."""
    by_case = {word.casefold(): word for word in allowed}
    close = difflib.get_close_matches(name[:LONGEST].casefold(), list(by_case), n=1, cutoff=0.5)
    return by_case[close[0]] if close else None


def did_you_mean(name: str | None) -> str:
    """Return the end of an error that proposes a name: `; did you mean X?`, or nothing."""
    return f"; did you mean {name}?" if name else ""


def unknown(kind: str, name: str, allowed: Iterable[str]) -> UserError:
    """Build the one-line error for a name that is none of `allowed`."""
    names = list(allowed)
    cut = name if len(name) <= LONGEST else f"{name[:LONGEST]}..."
    hint = did_you_mean(nearest(name, names))
    return UserError(f"{kind} {cut!r} does not exist; allowed: {', '.join(names)}{hint}")
