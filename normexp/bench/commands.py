"""Whole commands, timed as a user feels them: a fresh process each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from normexp.errors import UserError

NORMEXP = (sys.executable, "-m", "normexp")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def normexp(*words: str) -> list[str]:
    return [*NORMEXP, *words]


def seconds(command: Sequence[str], folder: Path | None = None) -> float:
    """Return wall seconds of a command. Raises UserError if it fails."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    spent = time.perf_counter() - began
    if done.returncode:
        raise UserError(f"bench: {' '.join(command[1:6])}: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    return spent


def answer(command: Sequence[str], *words: str) -> str:
    """Return what a command prints. Raises UserError if it fails."""
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"bench: {' '.join(words)}: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    return done.stdout.strip()


# A process counts what its parent held as its own peak: a small one stands between.
USED = """
import resource, subprocess, sys
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
    seconds, largest = answer(python(USED), *command).split()
    return Usage(float(seconds), int(largest) * (1 if sys.platform == "darwin" else 1024))
