"""Runs of one shape -> their ordinary run directories, trained together as one batched program.

Each has its own files, and ends, diverges and is read as if it had been alone; environment.json says with how many it
was stacked. Checkpoints are written at the end only: of a stack that is stopped or killed, the runs start again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from normexp.config import Config
from normexp.data.loading import Loader
from normexp.errors import Interrupted
from normexp.norms.base import Norm
from normexp.records import FINISHED, RunDirectory
from normexp.runs.progress import NullProgress, Progress
from normexp.runs.recorder import held
from normexp.runs.signals import stop_signals
from normexp.runs.timer import Timer
from normexp.runs.trainer import POLL_INTERVAL, Trainer
from normexp.training.build import build, initialize_from_data
from normexp.training.process import process_settings
from normexp.training.stacked import Stacked, why_not

logger = logging.getLogger("normexp")


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
    with (
        process_settings(configs[0]["compile"], configs[0]["precision"]),
        ExitStack() as locks,
        stop_signals(stopped.set),
    ):
        built = []
        for config, directory in zip(configs, directories, strict=True):
            data = loader.load(config)
            built.append((config, data, build(config, data, loader.examples), directory))
        torch.set_num_threads(built[0][2].threads)
        members: list[Member] = []
        for directory in directories:
            locks.enter_context(held(directory, lambda: any(member.position.step for member in members)))
        members += [
            Member(*parts, stopped, restart=True)
            for parts in built
            if force or parts[-1].status["status"] not in FINISHED
        ]
        if members:
            Stack(members, stopped).run(progress)
        return [str(RunDirectory(path).status["status"]) for path in paths]


class Member(Trainer):
    """One run of a stack: the records of a run alone, but for what the stack does for it."""

    together = 1  # runs in its stack
    measured: dict[str, float] = {}  # noqa: RUF012  replaced before every evaluation is recorded
    ended = False

    def window(self, step: int, losses: torch.Tensor, hits: torch.Tensor, seconds: float) -> bool:
        """Take over what was trained since the last evaluation; return whether the run goes on."""
        self.position.step = step
        self.accumulator.restore(losses, hits, self.components.batches.batch_size)
        self.recorder.timer = self.timer = Timer(seconds)
        self.ended = self._diverged()
        return not self.ended

    def _environment(self) -> dict[str, Any]:
        return {**super()._environment(), "stacked": self.together}

    def _evaluate(self) -> dict[str, float]:
        return self.measured


class Stack:
    """One attempt at several runs: the batched program, and the members' records.

    Args:
        stopped: set by whoever wants it to end.
    """

    def __init__(self, members: Sequence[Member], stopped: threading.Event) -> None:
        self.members, self.stopped = members, stopped
        for member in members:
            member.together = len(members)
        self.first = members[0].components
        self.timer = Timer()

    @property
    def going(self) -> list[tuple[int, Member]]:
        """The members that have not diverged, and their rows."""
        return [(row, member) for row, member in enumerate(self.members) if not member.ended]

    def run(self, progress: Progress = NullProgress) -> None:
        """Train all to the end. Raises Interrupted."""
        batches = self.first.batches
        try:
            for member in self.members:
                member.begin()
            self.stacked = Stacked([member.components for member in self.members])
            self._evaluate()
            for _, member in self.going:
                member.record(member.measured)
            shown = progress(self.first.steps, batches.steps_per_epoch, batches.batch_size * len(self.members), 0)
            self._train(shown)
        except Interrupted:
            raise
        except BaseException as error:
            for _, member in self.going:
                member.recorder.failed(0, error)
            raise

    def _train(self, shown: NullProgress) -> None:
        steps, every = self.first.steps, min(self.first.eval_every, self.first.steps)
        losses = torch.zeros(len(self.members), every, device=self.first.device)
        hits, used, poll = torch.zeros(len(self.members), device=self.first.device), 0, 0.0
        self.timer.start()
        for done, (x, y) in zip(range(1, steps + 1), self.stacked.batches(), strict=False):
            losses[:, used], correct = self.stacked.step(x, y, done - 1)
            hits, used = hits + correct, used + 1
            if time.monotonic() >= poll:
                poll = time.monotonic() + POLL_INTERVAL
                shown.poll(done, 0.0)
                self._stop_if_asked()
            if done == steps or done % every == 0:
                self.timer.stop()
                self._end_window(done, losses[:, :used], hits)
                hits, used = torch.zeros_like(hits), 0
                if not self.going:
                    return
                self.timer.start()
        self.timer.stop()
        self.stacked.part_optimizers()
        for _, member in self.going:
            member.end()

    def _end_window(self, done: int, losses: torch.Tensor, hits: torch.Tensor) -> None:
        seconds = self.timer.seconds / len(self.members)
        for row, member in self.going:
            member.window(done, losses[row], hits[row], seconds)
        self._evaluate()
        for _, member in self.going:
            member.end_window()

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

    def _stop_if_asked(self) -> None:
        if self.stopped.is_set():
            for _, member in self.going:
                member.recorder.status("interrupted", 0, cause="stopped by a signal; a stack starts again")
            text = f"the same command starts {len(self.members)} stacked runs again"
            logger.warning(text)  # a sweep says of itself that all is saved
            raise Interrupted(f"stopped; {text}")
