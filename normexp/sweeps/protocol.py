"""Who may train which cell: the rules that a sweep's workers follow over a shared folder (docs/cluster.md).

What touches the folder is a generator of single operations, and knows neither a disk nor a clock: `carry_out` runs one
on a real folder, the tests interleave those of many workers and end them at any operation.

A claim is a file `CELL.GENERATION`, made whole by an operation that fails where the name exists. Names are only ever
added, so nobody can be wrong about a generation for long: whoever wants a cell makes the file of the next generation,
and of several exactly one succeeds. Whoever takes a cell over then writes TAKEN into the files of all earlier
generations, before it touches the run; a holder reads its own file before each write of a record.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

TAKEN = "taken"  # the content of a claim that somebody has taken over
OPEN = "open"  # a mark: whoever wants the cell may have it at once
ENDS = ("done", "diverged", "failed")  # marks: nobody needs to look at the cell again

T = TypeVar("T")


@dataclass(frozen=True)
class Create:
    """Make a file with all its content, unless one of that name exists. Answers whether it was made."""

    name: str
    content: str


@dataclass(frozen=True)
class Replace:
    """Put new content in a file's place, at once."""

    name: str
    content: str


@dataclass(frozen=True)
class Read:
    """Answers a file's content, None where there is no such file."""

    name: str


Steps = Generator[Create | Replace | Read, Any, T]


class SharedFolder(Protocol):
    """A folder that all workers see."""

    def create(self, name: str, content: str) -> bool: ...

    def replace(self, name: str, content: str) -> None: ...

    def read(self, name: str) -> str | None: ...


def carry_out(steps: Steps[T], folder: SharedFolder) -> T:
    """Do every operation of a generator on a folder; return what it returns."""
    answer: Any = None
    while True:
        try:
            operation = steps.send(answer)
        except StopIteration as end:
            return end.value
        answer = perform(operation, folder)


def perform(operation: Create | Replace | Read, folder: SharedFolder) -> bool | str | None:
    """Do one operation on a folder and return its answer."""
    if isinstance(operation, Create):
        return folder.create(operation.name, operation.content)
    if isinstance(operation, Replace):
        folder.replace(operation.name, operation.content)
        return None
    return folder.read(operation.name)


@dataclass(frozen=True)
class Claim:
    """The right to train one cell.

    Args:
        generation: counts the claims of the cell, from 1.
        worker: the name of its holder.
        attempt: which of the holder's attempts at any cell this is, so that no two claims have equal content.
    """

    cell: int
    generation: int
    worker: str
    attempt: int

    @property
    def name(self) -> str:
        return claim_name(self.cell, self.generation)

    @property
    def content(self) -> str:
        return f"{self.worker} {self.attempt}"


@dataclass(frozen=True)
class CellState:
    """What the names in the folder say of a cell.

    Args:
        generation: of its newest claim, 0 for none.
        marks: what that claim's holder, or whoever wants a failed cell tried again, has left.
    """

    generation: int = 0
    marks: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_free(self) -> bool:
        return self.generation == 0 or OPEN in self.marks

    @property
    def end(self) -> str | None:
        """How the cell ended: one of ENDS; None where it has not."""
        return None if self.is_free else next((end for end in ENDS if end in self.marks), None)

    @property
    def is_held(self) -> bool:
        return not self.is_free and self.end is None


def claim_name(cell: int, generation: int) -> str:
    return f"{cell}.{generation}"


def beat_name(worker: str) -> str:
    return f"{worker}.json"


def cell_states(names: Iterable[str]) -> dict[int, CellState]:
    """Return the states of the cells that anybody has claimed, from the names of claims and marks."""
    marks: dict[tuple[int, int], set[str]] = {}
    for name in names:
        cell, generation, *mark = name.split(".")
        if cell.isdecimal() and generation.isdecimal():
            marks.setdefault((int(cell), int(generation)), set()).update(mark)
    return {cell: CellState(generation, frozenset(of)) for (cell, generation), of in sorted(marks.items())}


def take(cell: int, state: CellState, worker: str, attempt: int) -> Steps[Claim | None]:
    """Try to get a cell that is free, or whose holder is dead. Returns None where another worker was first."""
    claim = Claim(cell, state.generation + 1, worker, attempt)
    if not (yield Create(claim.name, claim.content)):
        return None
    yield from _fence_off(cell, state.generation)
    return claim


def _fence_off(cell: int, newest: int) -> Steps[None]:
    """Write TAKEN into the claims up to a generation, the oldest first: below one that is taken, all are."""
    first = newest
    while first > 0 and (yield Read(claim_name(cell, first))) != TAKEN:
        first -= 1
    for generation in range(first + 1, newest + 1):
        yield Replace(claim_name(cell, generation), TAKEN)


def is_valid(claim: Claim) -> Steps[bool]:
    """Tell whether nobody has taken the cell over. The holder asks before each write of a record."""
    content = yield Read(claim.name)
    return bool(content == claim.content)


def end(claim: Claim, status: str, cause: str = "") -> Steps[None]:
    """Say how the cell ended (one of ENDS)."""
    yield Create(f"{claim.name}.{status}", cause)


def reopen(cell: int, generation: int) -> Steps[None]:
    """Let whoever wants the cell have it: its holder stops, or it failed and is to be tried again."""
    yield Create(f"{claim_name(cell, generation)}.{OPEN}", "")


class Observer:
    """Judges by its own clock who is dead: whoever showed no change for `takeover` seconds.

    Clocks of other machines and times of files play no part. The first look at a worker proves nothing.
    """

    def __init__(self, takeover: float) -> None:
        self.takeover = takeover
        self._seen: dict[str, tuple[str | None, float]] = {}

    def is_dead(self, worker: str, beat: str | None, now: float) -> bool:
        """Take note of what a worker's file holds now; tell whether it has been that for too long.

        Args:
            beat: the content of the worker's file; None where it has none.
            now: seconds of a clock that never goes back.
        """
        known, since = self._seen.get(worker, (beat, now))
        if worker not in self._seen or beat != known:
            since = now
        self._seen[worker] = (beat, since)
        return now - since >= self.takeover


def holder(cell: int, state: CellState) -> Steps[tuple[str, str | None] | None]:
    """Return (worker, content of its file) of whoever holds a cell; None where that has just changed."""
    content = yield Read(claim_name(cell, state.generation))
    if content is None or content == TAKEN:
        return None
    worker = content.partition(" ")[0]
    beat = yield Read(beat_name(worker))
    return worker, beat
