"""A worker process of a sweep: reads one cell per line, trains it, answers in events. Imports torch only once.

Jobs and events are JSON lines on what were standard input and output when the worker began. From then on a library
that reads finds nothing, and what it prints goes to standard error: neither can be taken for a job or an event.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import threading
import traceback
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from normexp.config import compose
from normexp.data.loading import Loader
from normexp.errors import Busy, Interrupted, NoRoom, Taken, Unavailable, UserError, kind_and_line, whose_memory
from normexp.records import RunDirectory
from normexp.records.fences import fenced
from normexp.runs.place import with_content
from normexp.runs.progress import NullProgress
from normexp.runs.run import run
from normexp.sweeps.claim_folder import ClaimFolder
from normexp.sweeps.protocol import Claim, carry_out, is_valid

loader = Loader()  # a sweep's cells mostly train on the same data
speeds: dict[Hashable, Any] = {}  # and many differ in their length alone


def main() -> None:
    jobs, events = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    logging.getLogger("normexp").addHandler(Warnings(events))
    working = threading.Event()
    threading.Thread(target=stop_when_left, args=(jobs.fileno(), working), daemon=True).start()
    for line in jobs:
        job = json.loads(line)
        working.set()
        try:
            send(events, event="end", **VERBS[job.pop("verb")](events, **job))
        except Interrupted:
            return
        working.clear()


def stop_when_left(jobs: int, working: threading.Event) -> None:
    """Save and end what is running when the sweep is gone (between two jobs, reading the next ends it)."""
    waiting = select.poll()
    waiting.register(jobs, 0)  # for nothing but that the other end is closed
    waiting.poll()
    if working.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


class Warnings(logging.Handler):
    """Passes on what the user should know although nothing has failed."""

    def __init__(self, events: IO[str]) -> None:
        super().__init__(logging.WARNING)
        self.events = events

    def emit(self, record: logging.LogRecord) -> None:
        send(self.events, event="warning", text=record.getMessage())


def send(events: IO[str], **event: Any) -> None:
    """Write one event. Raises Interrupted if the sweep is gone: a worker outlives it by a fraction of a second."""
    try:
        events.write(json.dumps(event) + "\n")
    except BrokenPipeError:
        raise Interrupted("the sweep has ended") from None


def gpus(events: IO[str]) -> dict[str, Any]:
    """Return how many accelerators torch finds."""
    import torch

    return {"gpus": torch.accelerator.device_count() if torch.accelerator.is_available() else 0}


def check(events: IO[str], overrides: list[str], probed: bool) -> dict[str, Any]:
    """Return what the probe of a run measures; `refused` is the cause where the run would be refused.

    `unavailable` tells that this machine lacks something which another one may have.
    """
    from normexp.runs.parts import check_parts

    config = compose(overrides)
    try:
        return {"probed": check_parts(config, loader, probed)}
    except UserError as error:
        lacks = isinstance(error, Unavailable) or (error.__cause__ is not None and whose_memory(error.__cause__))
        return {"refused": str(error), "unavailable": bool(lacks)}
    except Exception as error:  # whatever it is, the real run will say it in its own record
        return {"cause": kind_and_line(error)}


def estimate(events: IO[str], overrides: list[str]) -> dict[str, Any]:
    """Return the estimated seconds of a whole run, from a few steps of it; where that fails, the cause."""
    from normexp.runs.estimate import estimate_seconds

    try:
        return {"seconds": estimate_seconds(compose(overrides), loader, speeds)}
    except UserError as error:
        return {"cause": str(error)}
    except Exception as error:  # whatever it is, the real run will say it in its own record
        return {"cause": kind_and_line(error)}


def train(
    events: IO[str], overrides: list[str], path: str, force: bool, claim: list[Any] | None = None
) -> dict[str, Any]:
    """Run one cell; return its status and, where it did not end, the cause in one line.

    Args:
        claim: of a shared sweep: its folder, then what a Claim consists of; nothing is written once it is taken.
    """

    def whole() -> dict[str, Any]:
        with fenced(claim_check(*claim)) if claim else nullcontext():
            directory = run(compose(overrides), force, steps_to(events), Path(path), loader)
        return {"status": RunDirectory(directory.path).status["status"]}

    return ended(whole)


def stack(events: IO[str], cells: list[dict[str, Any]], force: bool) -> dict[str, Any]:
    """Run cells of one shape together; return their statuses, or one with its cause where none has ended."""
    from normexp.runs.stack import train_stack

    configs, paths = [compose(cell["overrides"]) for cell in cells], [Path(cell["path"]) for cell in cells]

    def whole() -> dict[str, Any]:
        statuses = train_stack([with_content(config) for config in configs], paths, force, steps_to(events), loader)
        return {"status": "done", "statuses": statuses}

    return ended(whole)


def stackable(events: IO[str], overrides: list[list[str]]) -> dict[str, Any]:
    """Return the cause where runs of one shape cannot be trained together; nothing where they can."""
    from normexp.runs.stack import why_not_stacked

    def whole() -> dict[str, Any]:
        cause = why_not_stacked([compose(words) for words in overrides], loader)
        return {"cause": cause} if cause else {}

    return ended(whole)


def steps_to(events: IO[str]) -> type[NullProgress]:
    """Return a display that sends the steps of a run as events."""

    class Events(NullProgress):
        def __init__(self, steps: int, steps_per_epoch: int, batch_size: int, done: int = 0) -> None:
            self.steps = steps

        def poll(self, done: int, loss: float) -> None:
            send(events, event="step", step=done, steps=self.steps)

        def evaluated(self, done: int, row: Mapping[str, object]) -> None:
            self.poll(done, 0.0)

    return Events


def ended(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of some work; where it did not end, the status and the cause in one line."""
    try:
        return work()
    except Taken:
        return {"status": "taken"}
    except Busy:
        return {"status": "busy"}
    except Interrupted as stopped:
        return {"status": "interrupted", "cause": str(stopped)}
    except NoRoom as error:
        return {"status": "failed", "cause": str(error), "no_room": True}
    except UserError as error:
        return {"status": "failed", "cause": str(error)}
    except Exception as error:  # out of memory, a bug in a scheme: it costs this cell only
        return {"status": "failed", "cause": kind_and_line(error), "traceback": traceback.format_exc()}


def claim_check(sweep: str, *claim: Any) -> Callable[[], None]:
    """Return what is called before each write of a record: it raises Taken where the claim is another worker's."""
    folder, own = ClaimFolder(Path(sweep)), Claim(*claim)

    def check() -> None:
        if not carry_out(is_valid(own), folder):
            raise Taken(f"{sweep}: cell {own.cell} was taken over")

    return check


VERBS: dict[str, Callable[..., dict[str, Any]]] = {
    "train": train,
    "stack": stack,
    "stackable": stackable,
    "check": check,
    "estimate": estimate,
    "gpus": gpus,
}
