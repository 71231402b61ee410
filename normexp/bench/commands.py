"""Whole commands, timed as a user feels them: a fresh process each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
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
PEAK = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


def peak_memory(command: Sequence[str]) -> int:
    """Return the largest resident size of a command's process, in bytes. Raises UserError if it fails."""
    return int(answer(python(PEAK), *command)) * (1 if sys.platform == "darwin" else 1024)
