"""Runs of one shape -> their ordinary run directories, trained together as one batched program.

Each has its own files, and ends, diverges and is read as if it had been alone; environment.json says with how many it
was stacked. A stack that is stopped or killed goes on from the checkpoints of its runs, which are all of one step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from normexp.config import Config, compose
from normexp.config.text import amount
from normexp.data.base import Data
from normexp.data.loading import Loader
from normexp.errors import Interrupted
from normexp.norms.base import Norm
from normexp.records import FINISHED, RunDirectory, Together, together_before
from normexp.runs.checkpointer import next_save
from normexp.runs.progress import NullProgress, Progress
from normexp.runs.recorder import held
from normexp.runs.signals import is_stop, stop_signals
from normexp.runs.stack_checkpoint import save_together, settle
from normexp.runs.timer import Timer
from normexp.runs.trainer import POLL_INTERVAL, Trainer
from normexp.seeding import seed_all
from normexp.training.build import build, build_schedule, initialize_from_data
from normexp.training.checks.stackable import copied, why_not
from normexp.training.components import Components
from normexp.training.process import process_settings
from normexp.training.stacked import Stacked

Parts = tuple[Config, Data, Components, RunDirectory]


def why_not_stacked(configs: Sequence[Config], loader: Loader) -> str | None:
    """Return why runs of one shape cannot be stacked, None where they can. Raises UserError as `build` does."""
    with process_settings():
        runs = [build(config, loader.load(config), loader.examples) for config in configs]
        for run in runs:
            initialize_from_data(run)
        return why_not(runs)


def train_stack(
    configs: Sequence[Config], paths: Sequence[Path], force: bool, progress: Progress, loader: Loader
) -> list[str]:
    """Train runs of one shape together, but for those that have ended; return the final status of each.

    Raises: UserError for parts that do not fit, Busy where another process trains one of them, Interrupted after
        Ctrl-C or SIGTERM.
    """
    directories, stopped = [RunDirectory(path) for path in paths], threading.Event()
    stack: Stack | None = None
    with (
        process_settings(configs[0]["compile"], configs[0]["precision"]),
        ExitStack() as locks,
        stop_signals(stopped.set),
    ):
        datas = [loader.load(config) for config in configs]
        built = [build(*parts, loader.examples) for parts in zip(configs, datas, strict=True)]
        torch.set_num_threads(built[0].threads)
        for directory in directories:
            locks.enter_context(held(directory, lambda: stack is not None and stack.done > 0))
        settle([each.path for each in directories if each.status["status"] not in FINISHED])
        for restart in (force, True):
            parts = zip(configs, datas, built, directories, strict=True)
            going = [each for each in parts if force or each[-1].status["status"] not in FINISHED]
            places = _places(going, force)
            members = [Member(*each, stopped, restart or each[-1].status["status"] == "new") for each in going]
            stack = Stack(members, places, stopped)
            if stack.begin():
                break
            built = [build(*parts, loader.examples) for parts in zip(configs, datas, strict=True)]
        assert stack is not None  # the loop is entered
        stack.run(progress)
        return [str(RunDirectory(path).status["status"]) for path in paths]


def _places(going: Sequence[Parts], force: bool) -> list[Together]:
    """Return the place of each run in the program: where they are continued, that which it had."""
    before = [] if force else [together_before(directory) for *_, directory in going]
    programs, rows = {each._replace(row=0) for each in before}, {each.row for each in before}
    if len(programs) == 1 and len(rows) == len(before) and max(rows) < before[0].stacked:
        return before
    rate = max((float(config["optim"]["lr"]) for config, *_ in going), default=0.0)
    return [Together(len(going), going[0][-1].path.name, row, rate) for row in range(len(going))]


class Member(Trainer):
    """One run of a stack: the records of a run alone, but for what the stack does for it."""

    in_stack = True
    place = Together()
    measured: dict[str, float] = {}  # noqa: RUF012  replaced before every evaluation is recorded
    ended = False

    def hold(self, step: int, losses: torch.Tensor, num_correct: torch.Tensor, seconds: float) -> None:
        """Take over what was trained since the last evaluation."""
        self.position.step = step
        self.accumulator.restore(losses, num_correct, self.components.batches.batch_size)
        self.recorder.timer = self.timer = Timer(seconds)

    def end_if_diverged(self) -> None:
        """Find out whether the run goes on after what it has taken over."""
        self.ended = self._diverged()

    def _environment(self) -> dict[str, Any]:
        return {**super()._environment(), **self.place._asdict()}

    def _evaluate(self) -> dict[str, float]:
        return self.measured


class Stack:
    """One attempt at several runs: the batched program, and the members' records.

    Args:
        places: of the members in the program. The rows of runs that have ended before it was continued are not left
            out, for a program of another size rounds in another order.
        stopped: set by whoever wants it to end.
    """

    def __init__(self, members: Sequence[Member], places: Sequence[Together], stopped: threading.Event) -> None:
        self.members, self.stopped = members, stopped
        for member, place in zip(members, places, strict=True):
            member.place = place
        self.done = self.used = 0  # updates: of the whole training, and since the last evaluation
        self.next_save = next_save(time.monotonic())

    @property
    def going(self) -> list[tuple[int, Member]]:
        """The members that have not diverged, and their rows."""
        return [(member.place.row, member) for member in self.members if not member.ended]

    def begin(self) -> bool:
        """Continue all members, or prepare step 0; return whether all are at one step: a file may be damaged.

        What refuses one of them does so before a file of another is touched.
        """
        prepared = [member.prepare() for member in self.members]
        steps = {member.position.step for member in self.members}
        self.done = max(steps, default=0)
        if together := len(steps) < 2:
            for member, found in zip(self.members, prepared, strict=True):
                member.begin(*found)
        return together

    def run(self, progress: Progress = NullProgress) -> None:
        """Train all to the end. Raises Interrupted."""
        if not self.members:
            return
        try:
            self._prepare()
            if not self.done:
                seed_all(0)  # nothing is drawn from it, but a checkpoint holds where it is
                self._evaluate()
                for _, member in self.going:
                    member.record(member.measured)
            batches = self.first.batches
            size = batches.batch_size * len(self.members)
            self._train(progress(self.first.steps, batches.steps_per_epoch, size, self.done))
        except BaseException as error:
            for _, member in self.going if not is_stop(error) else ():
                member.recorder.failed(self.done, error)
            raise

    def _prepare(self) -> None:
        """Build the batched program, and take over what its members have trained since their last evaluation."""
        first, size = self.members[0], self.members[0].place.stacked
        self.first, held = first.components, {row: member.components for row, member in self.going}
        self.stacked = Stacked([held.get(row) or self._stand_in() for row in range(size)])
        self.timer = Timer(first.timer.seconds * len(self.members))
        self.losses = torch.zeros(size, len(first.accumulator.losses), device=self.first.device)
        self.num_correct = torch.zeros(size, device=self.first.device)
        self.used = first.accumulator.steps
        for row, member in self.going:
            self.losses[row], self.num_correct[row] = member.accumulator.losses, member.accumulator.num_correct

    def _stand_in(self) -> Components:
        """Return what is trained in a row that is nobody's any more, with the rate that all updates are made with."""
        first, copy = self.members[0], copied(self.first)
        rate = first.place.rate
        copy.optimizer.param_groups[0]["lr"] = rate
        config = compose([*first.config.overrides, f"optim.lr={rate!r}"])
        return replace(copy, schedule=build_schedule(config, copy.steps))

    def _train(self, shown: NullProgress) -> None:
        steps, poll = self.first.steps, 0.0
        if self.used and self._at_evaluation():  # killed after the checkpoint of its last update
            self._end_window()
        self.timer.start()
        for x, y in islice(self.stacked.batches(self.done), steps - self.done if self.going else 0):
            self.losses[:, self.used], correct = self.stacked.step(x, y, self.done)
            self.num_correct += correct
            self.done, self.used = self.done + 1, self.used + 1
            if time.monotonic() >= poll:
                poll = time.monotonic() + POLL_INTERVAL
                shown.poll(self.done, 0.0)
                self._other_duties()
            if self._at_evaluation():
                self.timer.stop()
                self._end_window()
                if not self.going:
                    return
                self.timer.start()
        self.timer.stop()
        self.stacked.part_optimizers()
        for _, member in self.going:
            member.end()

    def _at_evaluation(self) -> bool:
        return self.done == self.first.steps or self.done % self.first.eval_every == 0

    def _end_window(self) -> None:
        self._hold()
        for _, member in self.going:
            member.end_if_diverged()
        self._evaluate()
        for _, member in self.going:
            member.end_window()
        self.num_correct.zero_()
        self.used = 0

    def _hold(self) -> None:
        seconds = self.timer.seconds / len(self.members)
        for row, member in self.going:
            member.hold(self.done, self.losses[row, : self.used], self.num_correct[row], seconds)

    def _evaluate(self) -> None:
        """Measure all members at once; what a scheme wants from training inputs it gets from each network."""
        for _, member in self.going:
            member.measured = {}
            if type(member.components.norm).before_evaluation is not Norm.before_evaluation:
                member.components.before_evaluation()
        for split in self.first.evaluated:
            found = self.stacked.evaluate(split)
            for row, member in self.going:
                member.measured |= {f"{split}/{name}": value for name, value in found[row].items()}

    def _other_duties(self) -> None:
        if self.stopped.is_set():
            self._save("interrupted", cause="stopped by a signal")
            text = f"stopped at step {self.done}; the same command continues {amount(len(self.going), 'stacked run')}"
            raise Interrupted(text)
        if self._due():
            self._save("running")

    def _due(self) -> bool:
        return time.monotonic() >= self.next_save and self._may_save()

    def _may_save(self) -> bool:
        """Tell whether no loss since the last evaluation says that a run ends there.

        What was not finite first is found from the checkpoint before it.
        """
        rows = [row for row, _ in self.going]
        return bool(self.losses[rows, : self.used].isfinite().all())

    def _save(self, status: str, **facts: Any) -> None:
        """Write status and, where it may be, checkpoints of all that go on. Not training time."""
        began = time.monotonic()
        self.timer.stop()
        self._hold()
        going = [member for _, member in self.going]
        if self._may_save():
            self.stacked.part_optimizers()
            save_together(going)
        for member in going:
            member.recorder.status(status, self.done, **facts)
        self.next_save = next_save(began)
        self.timer.start()
