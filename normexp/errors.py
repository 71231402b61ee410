"""The errors that a user sees as one line on standard error."""

from __future__ import annotations

import difflib
import inspect
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

LONGEST = 100  # characters of a wrong name that an error repeats and compares
POINTER = "a Git LFS pointer, not the file itself; `git lfs pull` fetches that"
RAISED_BY = "raised by "  # begins the note of an error that names a part of the user's own
MOST_NAMES, FEW_NAMES = 35, 8  # allowed names that an error lists: all of so many, or the nearest few


class UserError(Exception):
    """Something the user gave cannot work: a name, a value, a file. The message is one complete line."""


class Several(UserError):
    """Several things cannot work; the message has a line for each."""


class NoRoom(UserError):
    """The disk is full: no fault of what was asked, which goes on once there is room."""


class Busy(UserError):
    """Another process is running this very run; it will be finished without us."""


class Taken(Busy):
    """Another worker has taken the cell over: nothing more may be written to its run."""


class Impossible(UserError):
    """Every value is allowed, but together they cannot work; a sweep leaves such a cell out and says why."""


class Unavailable(Several):
    """Data that are needed, or the device, cannot be had, so nothing was started; a line for each of the data sets."""


class Interrupted(Exception):
    """The user asked to stop; the run is saved and continues when it is started again."""


class Submitted(Exception):
    """Workers elsewhere do what was asked; the message says how to follow them. Not a failure."""


def nearest(name: str, allowed: Iterable[str], cutoff: float = 0.5) -> str | None:
    """Return the closest allowed name, whatever its case; None where none is as close as difflib's ratio `cutoff`."""
    words = sorted(allowed, key=lambda word: difflib.SequenceMatcher(None, word, name[:LONGEST]).ratio())
    by_case = {word.casefold(): word for word in words}  # of words that differ in case alone the closest, which is last
    close = difflib.get_close_matches(name[:LONGEST].casefold(), list(by_case), n=1, cutoff=cutoff)
    return by_case[close[0]] if close else None


def as_python(value: object) -> str:
    """Return a value as Python writes it, in one line of an error: a tensor or a network has several."""
    text = repr(value)
    return _cut(" ".join(text.split()) if "\n" in text else text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def alternatives(words: Sequence[str]) -> str:
    """Return at least one word as `A, B or C`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def did_you_mean(name: str | None) -> str:
    """Return the end of an error that proposes a name: `; did you mean X?`, or nothing."""
    return f"; did you mean {name}?" if name else ""


def nearest_file(path: Path, *suffixes: str) -> str:
    """Return the end of an error about a missing file: the nearest one beside it with a suffix, or nothing.

    Args:
        suffixes: of the files that it may be, the likeliest first.
    """
    for suffix in suffixes:
        beside = {other.stem: other for other in path.parent.glob(f"*{suffix}") if other.is_file()}
        close = nearest(path.stem, beside)
        if close and str(beside[close]).isprintable():
            return did_you_mean(shlex.quote(str(beside[close])))
    return ""


def nearest_path(path: Path) -> str:
    """Return the end of an error about a missing path: the nearest one that is there, folder by folder, or nothing."""
    found = Path(path.anchor)
    for part in path.parts[bool(path.anchor) :]:
        try:
            close = part if os.path.lexists(found / part) else nearest(part, os.listdir(found), cutoff=0.7)
        except OSError:
            return ""
        if close is None or not close.isprintable():
            return ""
        found /= close
    return did_you_mean(shlex.quote(str(found))) if found != path else ""


def check_system() -> None:
    """Raise UserError on Windows, where asking whether a process lives (`os.kill(pid, 0)`) would end it."""
    if sys.platform == "win32":
        raise UserError("Windows: normexp needs Linux or macOS; WSL has the first (`wsl --install`)")


def check_current_folder() -> None:
    """Raise UserError where the current folder has been deleted: not even torch's libraries can be loaded there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UserError("the current folder does not exist any more; change to another one") from None


def is_pointer(start: bytes) -> bool:
    """Tell whether a file that begins so is what Git LFS leaves where a file has not been fetched."""
    return start.startswith(b"version https://git-lfs.github.com/spec/")


def came_of_interrupt(error: BaseException | None) -> bool:
    """Tell whether an error came up while Ctrl-C or a signal was on its way out: a library's clean-up may fail then."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says; its kind where it says nothing."""
    return _first(error) or type(error).__name__


def _first(error: BaseException) -> str:
    """Return the first line that says something: behind a colon, with which torch begins a list, also the next one."""
    first, *others = str(error).strip().splitlines() or [""]
    if first.endswith("TorchScript interpreter."):  # the reason comes last, behind a traceback of its own
        return others[-1]
    return f"{first} {others[0].strip()}" if first.endswith(":") and others else first


def never_awaited(function: object) -> str:
    """Return what is wrong with an `async def` of the user's own, which would do nothing; else nothing."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "is an `async def`, which is called and never awaited; make it a plain `def`"
    return ""


def not_taking(method: Callable[..., Any], ours: Callable[..., Any]) -> str:
    """Return what is wrong with a method of the user's own that cannot be called as ours, in whose place it is."""
    _, *wanted = inspect.signature(ours).parameters
    try:
        inspect.signature(method).bind(*wanted)
    except TypeError as error:
        return f"must take (self, {', '.join(wanted)}): {error}"
    return ""


def kind_of(given: object) -> str:
    """Return of what kind a thing is that code of the user's own gave; a coroutine is closed, or Python warns of it."""
    if not inspect.iscoroutine(given):
        return type(given).__name__
    given.close()
    return "coroutine, which is never awaited (make its `async def` a plain `def`)"


def whose_memory(error: BaseException) -> str:
    """Return whose memory an error says to be too small, or nothing; for a GPU, torch has a class of its own."""
    if type(error).__name__ == "OutOfMemoryError":
        return "the GPU"
    return "this machine" if isinstance(error, MemoryError) or "allocate memory" in str(error) else ""


def memory_line(error: BaseException) -> str:
    """Return one line for an error of too little memory, else nothing."""
    if not (whose := whose_memory(error)):
        return ""
    asked = re.search(r"allocate ([\d.]+ \w+)", str(error))
    more = f" ({asked[1]} more were asked for)" if asked else ""
    return f"the memory of {whose} does not suffice{more}; a smaller batch_size or network, or fewer jobs, need less"


def kind_and_line(error: BaseException) -> str:
    """Return what kind of error it is, the first line of what it says, and which part of the user's own raised it."""
    line = memory_line(error) or f"{type(error).__name__}: {_first(error) or 'no message'}"
    return line + raised_by(error)


def raised_by(error: BaseException) -> str:
    """Return `, raised by norm=my_norms.Scale (my_norms.py:6, in Scale.penalty)`; nothing where no note says that."""
    return "".join(f", {note}" for note in getattr(error, "__notes__", ()) if note.startswith(RAISED_BY))


def line_in(error: BaseException, *modules: str) -> str:
    """Return the last line of modules of the user's own that an error came by, as `place_of` says it; else nothing."""
    places = [
        f", {place_of(frame, line)}" for frame, line in frames_of(error) if frame.f_globals.get("__name__") in modules
    ]
    return places[-1] if places else ""


def line_of_import(error: BaseException, module: str) -> str:
    """Return the last line of a module, or of a file beside or below it, that an error came by, as `line_in` does.

    What is installed there, as in a virtual environment of the same folder, is nobody's own.
    """
    frames = [(Path(frame.f_code.co_filename), frame, line) for frame, line in frames_of(error)]
    folder = next((path.parent for path, frame, _ in frames if frame.f_globals.get("__name__") == module), None)
    own = folder and [
        place_of(frame, line)
        for path, frame, line in frames
        if path.is_relative_to(folder) and "site-packages" not in path.relative_to(folder).parts
    ]
    return f", {own[-1]}" if own else ""


def frames_of(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """Yield frames and lines that an error came by, but for code that is in no file, such as @dataclass makes."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename != "<string>":
            yield frame, line


def place_of(frame: FrameType, line: int) -> str:
    """Return `my_norms.py:17, in Clip.step_hook`, where of a function within another that one is named."""
    function = frame.f_code.co_qualname.partition(".<locals>")[0]
    inside = "" if function == "<module>" else f", in {function}"
    return f"{Path(frame.f_code.co_filename).name}:{line}{inside}"


def unknown(kind: str, name: str, allowed: Iterable[str], meant: str | None = None) -> UserError:
    """Build the one-line error for a name that is none of `allowed`.

    Args:
        meant: what the hint proposes; by default the nearest of `allowed`.
    """
    names = list(allowed)
    hint = did_you_mean(meant or nearest(name, names))
    return UserError(f"{kind} {_cut(name)!r} does not exist; allowed: {listed(names, name)}{hint}")


def listed(names: Sequence[str], like: str = "") -> str:
    """Return names for one line of an error: all, or of many those that are most like a word, and how many more."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names) or "nothing"
    near = difflib.get_close_matches(like[:LONGEST], names, n=FEW_NAMES, cutoff=0.0)
    return f"{', '.join(near)} and {len(names) - len(near)} more"
