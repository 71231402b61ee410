"""Whole commands, timed as a user feels them: a fresh process each."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE
from typing import Any

from normexp.children import child, python, words_of
from normexp.errors import UserError


def seconds(command: Sequence[str]) -> float:
    """Return wall seconds of a command. Raises UserError if it fails."""
    began = time.perf_counter()
    _ended(command, stdout=DEVNULL)
    return time.perf_counter() - began


def answer(command: Sequence[str]) -> str:
    """Return what a command prints. Raises UserError if it fails."""
    return _ended(command, stdout=PIPE).strip()


def _ended(command: Sequence[str], **streams: Any) -> str:
    """Run a command to its end and return what it printed. Raises UserError if it fails."""
    with child(command, stderr=PIPE, text=True, **streams) as process:
        printed, said = process.communicate()
    if process.returncode:
        last = (said.strip() or "no message").splitlines()[-1].removeprefix("normexp: ")
        raise UserError(": ".join(["bench", *filter(None, [" ".join(words_of(command)[:4])]), last]))
    return printed or ""


# A process counts what its parent held as its own peak: a small one stands between.
USED = """
import resource, signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: None)  # the command has it, too, and is waited for
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status)
"""


@dataclass(frozen=True)
class Usage:
    """What a command took, whatever else the machine had to do.

    Args:
        seconds: of processors, all threads together.
        memory: largest resident size of its process, in bytes.
    """

    seconds: float
    memory: int


def usage(command: Sequence[str]) -> Usage:
    """Run a command and return what it took. Raises UserError if it fails."""
    seconds, largest = answer(python(USED, *command)).split()
    return Usage(float(seconds), int(largest) * (1 if sys.platform == "darwin" else 1024))
