"""What dies at its n-th file operation, in a process of its own: none of it gets to know."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from in_process import InProcess

CHANGING = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
KILLED = 137


def command(*words: str) -> Callable[[], int]:
    """Return what runs `normexp`, with its workers in the same process."""

    def run() -> int:
        from normexp.cli.verbs import main
        from normexp.sweeps import workers

        workers.Worker = InProcess  # type: ignore[misc, assignment]
        return main(list(words))

    return run


def run_until(dies: int | None, work: Callable[[], object], folder: Path) -> tuple[int, int]:
    """Work in a fork of this process; return its exit status and how many operations in `folder` it began.

    Args:
        dies: the operation that it does not come to do, counted from 0; it ends with KILLED there.
        work: returns an exit status, or something else for 0.
    """
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        _end(work, _Counter(dies, folder, writing))
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        begun = len(file.read())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), begun


class _Counter:
    """Writes a byte for every operation that changes something below `folder`; ends the process at one of them."""

    def __init__(self, dies: int | None, folder: Path, writing: int) -> None:
        self.left, self.folder, self.writing = dies, str(folder), writing

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._counts(event, arguments):
            return
        if self.left == 0:
            os._exit(KILLED)
        self.left = None if self.left is None else self.left - 1
        os.write(self.writing, b".")

    def _counts(self, event: str, arguments: tuple[object, ...]) -> bool:
        if event == "open":
            changes = isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        else:
            changes = event in CHANGING
        return changes and any(self.folder in str(each) for each in arguments[:2])


def _end(work: Callable[[], object], counter: _Counter) -> None:
    """Work to the end or to the operation; never returns."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        sys.addaudithook(counter)
        status = work()
        os._exit(status if isinstance(status, int) else 0)
    except BaseException:
        os._exit(1)
