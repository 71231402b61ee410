"""Whole commands, timed as a user feels them: a fresh process each."""

from __future__ import annotations

import os
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


def peak_memory(command: Sequence[str]) -> int:
    """Return the largest resident size of a command's process, in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise UserError(f"bench: {' '.join(command[1:6])}: failed")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
