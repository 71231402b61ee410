"""The processes that we start: each finds the modules that we find, and Ctrl-C reaches it through us alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

SAVING = 20.0  # seconds that a child has to end in by itself


def python(program: str, *words: str) -> list[str]:
    """Return the command of a Python that looks for modules where this one does.

    `-m`, and `-c` by itself, would look in the current folder first, whose `random.py` is none that we mean.

    Args:
        program: its first line, which may be empty, consists of simple statements.
    """
    return [sys.executable, "-c", f"import sys; sys.path[:] = {[*map(str, sys.path)]!a}; {program}", *words]


def normexp(*words: str) -> list[str]:
    """Return a command of ours."""
    return python("from normexp.__main__ import main; raise SystemExit(main())", *words)


def words_of(command: Sequence[str]) -> Sequence[str]:
    """Return what a command of `python` was given, and what the command was that it was given."""
    while command[1:2] == ["-c"]:
        command = command[3:]
    return command


@contextmanager
def child(command: Sequence[str], **streams: Any) -> Iterator[subprocess.Popen[Any]]:
    """Hold a process in a session of its own; however we leave, it and what it has started there have ended.

    Args:
        streams: and what else `subprocess.Popen` takes.
    """
    with subprocess.Popen(command, start_new_session=True, **streams) as process:
        try:
            yield process
        finally:
            end(process)
            if process.stdin is not None:
                with suppress(BrokenPipeError):  # what it never read is lost with it
                    process.stdin.close()


def end(process: subprocess.Popen[Any]) -> None:
    """Ask a child to end and, where it does not or we are asked again, kill it."""
    if process.poll() is not None:
        return
    try:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SAVING)
    finally:
        if process.poll() is None:
            _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def _signal(process: subprocess.Popen[Any], number: int) -> None:
    """Send a signal to a child and to what it has started; a system without sessions knows the child alone."""
    with suppress(ProcessLookupError):
        getattr(os, "killpg", os.kill)(process.pid, number)
