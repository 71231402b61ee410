"""The standard streams: given where they are closed, let go where what is printed has no place."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import TextIOWrapper
from typing import TextIO


def give_streams() -> None:
    """Let standard streams that are closed, as in `2>&-`, lead nowhere.

    Else the next file that is opened, a record say, would have their number, and get what C libraries print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def replace_unknown_characters() -> None:
    """Print a question mark for a character that a terminal lacks: it must not fail a run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def prints_beside_answer() -> Iterator[None]:
    """Let what code of the user's own prints go to standard error: standard output has what a verb answers alone."""
    with redirect_stdout(sys.stderr):
        yield


def print_answer(text: str, is_json: bool) -> None:
    """Print what a verb answers. A character that a terminal lacks is an escape in JSON: `?` would be another name."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=1) + "\n" if is_json else text
    print(text, end="")


def takes_no_more(stream: TextIO) -> bool:
    """Tell whether a stream refuses a line, as a file on a full disk does. The line is an empty one."""
    try:
        stream.write("\n")
        stream.flush()
    except OSError:
        return True
    return False


def flush_or_let_go(stream: TextIO) -> None:
    """Write out what a stream holds; where it cannot be written, nobody gets it."""
    try:
        stream.flush()
    except OSError:
        let_go(stream)


def let_go(stream: TextIO) -> None:
    """Let a stream lead nowhere from now on, as its reader has gone or its disk is full.

    Else Python fails on what it still holds when the process ends, and changes the exit status to 120.
    """
    with suppress(OSError, ValueError):  # one that a caller put in its place may have no number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
