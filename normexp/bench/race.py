"""The race: every side in a process of its own, taking turns, so that a machine whose speed drifts slows all alike."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from subprocess import PIPE, Popen

from normexp.bench.sides import TUNED
from normexp.children import child, python
from normexp.errors import UserError

AS_THEY_COME = {"GOMP_SPINCOUNT": ""}  # what the command sets for itself is not for its rivals
WARM_UP = 20  # steps that are not timed; their losses are compared


@dataclass
class Side:
    """One competitor: its losses over the first steps, and its speed in every turn.

    Args:
        losses: of the first WARM_UP steps.
        speeds: steps per second, one per turn.
    """

    name: str
    losses: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Process:
    """A side that waits for its turn; allocator settings and threads belong to a process."""

    name: str
    process: Popen[str]

    def turn(self, steps: int) -> tuple[float, list[float]]:
        """Let it train some steps; return seconds and losses."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):  # one that has ended has said why
            self.process.stdin.write(f"{steps}\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise UserError(f"bench: side {self.name} failed; its message is above")
        found = json.loads(answer)
        if "refused" in found:
            raise UserError(f"bench: side {self.name}: {found['refused'].removeprefix('bench: ')}")
        return found["seconds"], found["losses"]


@contextmanager
def started(name: str, overrides: Sequence[str], settings: Mapping[str, str]) -> Iterator[Process]:
    """Hold the process of a side.

    Args:
        settings: environment variables of the process; an empty one is unset.
    """
    command = python("from normexp.bench.race import main; main()", name, *overrides)
    env = {key: value for key, value in {**os.environ, **settings}.items() if value}
    with child(command, stdin=PIPE, stdout=PIPE, text=True, env=env) as process:
        yield Process(name, process)


def race(names: Sequence[str], overrides: Sequence[str], rounds: int, seconds: float) -> list[Side]:
    """Let the sides take turns of equal numbers of steps.

    Args:
        seconds: about how long a turn of the slowest side takes.

    Raises: UserError where a side fails.
    """
    sides = [Side(name) for name in names]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(started(name, overrides, {} if name in TUNED else AS_THEY_COME)) for name in names
        ]
        slowest = 0.0
        for side, process in zip(sides, processes, strict=True):
            _, side.losses = process.turn(WARM_UP)
            slowest = max(slowest, process.turn(WARM_UP)[0])
        steps = max(5, int(WARM_UP * seconds / slowest))
        for _ in range(rounds):
            for side, process in zip(sides, processes, strict=True):
                side.speeds.append(steps / process.turn(steps)[0])
    return sides


def serve(name: str, overrides: Sequence[str]) -> None:
    """Answer each line `steps` on standard input with seconds and losses, one JSON line each."""
    from normexp.bench.sides import side
    from normexp.bench.work import Work
    from normexp.training.process import process_settings

    work = Work(overrides)
    with process_settings(work.config["compile"]) if name in TUNED else nullcontext():
        train = side(name)(work)
        for line in sys.stdin:
            began = time.perf_counter()
            losses = train(int(line))
            print(json.dumps({"seconds": time.perf_counter() - began, "losses": losses}), flush=True)


def main() -> None:
    """Be the process of a side: `... NAME OVERRIDES`. What the user gave and cannot work is an answer, too."""
    try:
        serve(sys.argv[1], sys.argv[2:])
    except UserError as error:
        print(json.dumps({"refused": str(error)}), flush=True)
