"""One built configuration -> one trained, recorded run directory; stoppable at any instant and resumable."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from normexp.config import Config
from normexp.data.base import Data
from normexp.data.loading import LastValue
from normexp.errors import Interrupted
from normexp.probes.base import Row
from normexp.records import CHECKPOINT, FINISHED, Damaged, RunDirectory, environment_before, together_before
from normexp.runs.checkpointer import Checkpointer, Position
from normexp.runs.continued import earlier_machines
from normexp.runs.divergence import first_nonfinite, nonfinite_weights
from normexp.runs.doubts import doubts
from normexp.runs.environment import environment
from normexp.runs.loggers import Logs
from normexp.runs.optimizer_state import check_own_optimizer
from normexp.runs.own_code import changed_code, with_another
from normexp.runs.progress import NullProgress, Progress
from normexp.runs.recorder import Recorder, held
from normexp.runs.signals import is_stop, stop_signals
from normexp.runs.situation import situation
from normexp.seeding import seed_all, stream
from normexp.training.batches import EVALUATION_BATCH, Batch, Examples, sequential_batches
from normexp.training.build import build, initialize_from_data
from normexp.training.checks.fitting import fitting
from normexp.training.checks.own_part import name_own_part
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.machine.hardware import peak_memory
from normexp.training.metrics import build_accumulator, evaluate
from normexp.training.process import process_settings

POLL_INTERVAL = 0.2  # seconds between two looks at the other duties: progress, divergence, checkpoint

logger = logging.getLogger("normexp")


def train(
    config: Config,
    data: Data,
    directory: RunDirectory,
    force: bool,
    progress: Progress = NullProgress,
    examples: LastValue[dict[str, Examples]] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Train to the end and return the final status, `done` or `diverged`.

    Nothing is said or written before every part is built, and what refuses at the first evaluation takes back what was
    written: a mistake leaves no trace.

    Args:
        force: start again, whatever earlier attempts left.
        progress: what shows the progress.
        examples: shared with the runs before this one.
        notes: logged once nothing is left that could refuse the run.

    Raises: UserError for parts that do not fit, Interrupted after Ctrl-C or SIGTERM.
    """
    with process_settings(config["compile"], config["precision"]):
        components = build(config, data, examples)
        check_own_optimizer(components.optimizer)
        torch.set_num_threads(components.threads)
        stopped = threading.Event()
        trainer: Trainer | None = None
        with held(directory, lambda: trainer is not None and trainer.position.step > 0), stop_signals(stopped.set):
            status = str(directory.status["status"])  # read again: another process may have finished it meanwhile
            if status in FINISHED and not force:
                return status
            trainer = Trainer(config, data, components, directory, stopped, force or status == "new")
            return trainer.run(progress, notes)


class Trainer:
    """One attempt at a run: `fit`, with evaluations, records, checkpoints, and an end at any instant.

    Args:
        stopped: set by whoever wants the run to save itself and end.
        restart: forget earlier attempts.
    """

    in_stack = False  # whether others are trained in the same program, which rounds in another order

    def __init__(
        self,
        config: Config,
        data: Data,
        components: Components,
        directory: RunDirectory,
        stopped: threading.Event,
        restart: bool,
    ) -> None:
        self.config, self.data, self.components, self.stopped = config, data, components, stopped
        names = ("loss", components.task.metric)
        columns = [f"{split}/{name}" for split in ("train", *components.evaluated) for name in names]
        self.recorder = Recorder(directory, columns, components.steps, restart, Logs(config, directory))
        self.timer = self.recorder.timer
        self.checkpointer = Checkpointer(directory.path, components, data.fingerprint, config.identity)
        self.accumulator = build_accumulator(components)
        saved = not restart and directory.has(CHECKPOINT)
        self.resumes = saved and self.in_stack == bool(together_before(directory).stacked)
        self.begins_again = not restart and not self.resumes
        self.position = Position()
        self.last_row: dict[str, float] = {}
        self.progress = NullProgress(components.steps, components.batches.steps_per_epoch, 1)
        self.next_poll = 0.0

    def run(self, progress: Progress = NullProgress, notes: Sequence[str] = ()) -> str:
        """Train to the end; return `done` or `diverged`. The notes are logged once it is sure to train."""
        self.begin(*self.prepare())
        batches = self.components.batches
        try:
            if not self.resumes:
                seed_all(stream(self.components.seed, "noise"))  # for a network that draws in evaluation, too
                self.record(self._evaluate())
            continuing = [f"continuing a run that was stopped at step {self.position.step}"] * self.resumes
            for note in [*continuing, *notes]:
                logger.info(note)
            size = (self.components.steps, batches.steps_per_epoch, batches.batch_size)
            self.progress = progress(*size, self.position.step)
            return self._train()
        except BaseException as error:
            if not is_stop(error):
                name_own_part(error, self.config, self.position.step)
                self.recorder.failed(self.position.step, error)
            raise
        finally:
            self.progress.close()

    def prepare(self) -> tuple[int, dict[str, Any]]:
        """Continue from the checkpoint, or prepare step 0; return up to which step curves stay, and the environment."""
        keep_until = -1
        said, kept = doubts(self.config, self.components, self.data)
        if self.resumes:
            try:
                self.position = self.checkpointer.restore(self.accumulator)
            except Damaged as error:
                logger.info(f"{error}; set aside as *.damaged, starting again")
                self.resumes = False
            else:
                keep_until = self.position.step - self.accumulator.steps
        if self.begins_again:
            why = "begun in a stack" if self.checkpointer.path.exists() else "stopped before its first checkpoint"
            logger.info(f"the run was {why}: training begins again")
        if not self.resumes:
            self.timer.reset()
            with fitting(self.config):
                initialize_from_data(self.components)
        for doubt in said:
            logger.warning(doubt)  # also out of a sweep's worker
        environment = self._environment() | kept
        before = environment_before(self.recorder.directory) if self.resumes else {}
        if self.resumes and (changed := changed_code(self.config, self.recorder.directory)):
            logger.warning(f"continued {with_another(changed)} it began with; --force begins again")
        if self.resumes and (earlier := earlier_machines(before, environment, self.position.step)):
            environment["continued"] = earlier
        return keep_until, environment

    def begin(self, keep_until: int, environment: dict[str, Any]) -> None:
        """Write what is known before the first step, over what an earlier attempt left."""
        self.recorder.status("running", self.position.step)  # first of all: a killed --force is no finished run
        if self.resumes:
            self.checkpointer.cut_curves()
        else:
            self.checkpointer.path.unlink(missing_ok=True)
        self.recorder.begin(keep_until, self.config.recorded().to_yaml(), environment)

    def _train(self) -> str:
        if self._at_evaluation() and self.accumulator.steps:  # killed after the checkpoint of its last update
            self.end_window()
        self.timer.start()
        for update in fit(self.components, self.position.step):
            self.accumulator.add(update)
            self.position.step = update.done
            if self._poll() or self._at_evaluation():
                self.timer.stop()
                if self._diverged():
                    return "diverged"
                if self.stopped.is_set():
                    self._stop()
                self.end_window()
                self.timer.start()
        self.timer.stop()
        return self.end()

    def _poll(self) -> bool:
        """Called after every update, it does its duties a few times a second; return whether training has to end."""
        now = time.monotonic()
        if now >= self.next_poll:
            self.next_poll = now + POLL_INTERVAL
            self.progress.poll(self.position.step, self.accumulator.last_loss())
            if self.accumulator.first_nonfinite() is not None:
                return True
            if self.checkpointer.due():
                self.save("running")
        return self.stopped.is_set()

    def _at_evaluation(self) -> bool:
        return self.position.step == self.components.steps or self.position.step % self.components.eval_every == 0

    def end_window(self) -> None:
        """Evaluate and record; then the next stretch of training begins."""
        trained = self.accumulator.metrics()
        self.last_row = {**{f"train/{name}": value for name, value in trained.items()}, **self._evaluate()}
        self.record(self.last_row)
        images = self.position.step * self.components.batches.batch_size
        self.recorder.timings(self.position.step, images, peak_memory(self.components.device))
        self.position.last_loss = self.accumulator.last_loss()
        self.accumulator.clear()

    def record(self, measured: dict[str, float]) -> None:
        step = self.position.step
        epoch = step / self.components.batches.steps_per_epoch
        self.recorder.curves(step, epoch, self.components.lr(step), measured)
        self.recorder.probe(step, self._probe())
        self.progress.evaluated(step, measured)

    def _probe(self) -> list[Row]:
        at = situation(self.components, self.position.step)
        return self.components.probe.rows(self.config.choices["probe"], at)

    def _evaluate(self) -> dict[str, float]:
        row = {}
        self.components.before_evaluation()
        for split, examples in self.components.evaluated.items():
            batches = self._until_stopped(sequential_batches(examples, EVALUATION_BATCH))
            measured = evaluate(self.components, batches)
            row.update({f"{split}/{name}": value for name, value in measured.items()})
        return row

    def _until_stopped(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Pass the batches of an evaluation on: a long one must not keep the user, or the batch system, waiting."""
        for batch in batches:
            if self.stopped.is_set():
                self._stop()
            yield batch

    def _diverged(self) -> bool:
        """Record the first loss that is not finite, if there is one, as the end of the run."""
        index = self.accumulator.first_nonfinite()
        if index is None:
            return False
        self.position.step += index + 1 - self.accumulator.steps
        losses, checkpoint = self.accumulator.losses, self.checkpointer.path
        if index:
            self.position.last_loss = float(losses[index - 1])
        step = self.position.step
        origin = first_nonfinite(self.config, self.data, self.components, checkpoint, step, self.stopped)
        self._end_diverged("training", float(losses[index]), origin)
        return True

    def end(self) -> str:
        """Save and end with `done`; with `diverged` where no loss shows what the last update did to the network."""
        lost = [name for name, value in self.last_row.items() if name.endswith("/loss") and not math.isfinite(value)]
        if not lost:
            self.save("done")
            return "done"
        origin = next(iter(nonfinite_weights(self.components.model, self.position.step)), None)
        self._end_diverged(lost[0].removesuffix("/loss"), self.last_row[lost[0]], origin)
        return "diverged"

    def _end_diverged(self, split: str, loss: float, origin: str | None) -> None:
        facts = {"last_finite_loss": self.position.last_loss, "first_nonfinite": origin}
        self.recorder.status("diverged", self.position.step, cause=f"the {split} loss became {loss}", **facts)

    def _stop(self) -> None:
        """Save and end. Before the first step there is nothing to save, and no row of step 0 to continue from."""
        if self.position.step:
            self.save("interrupted", cause="stopped by a signal")
        else:
            self.recorder.status("interrupted", 0, cause="stopped by a signal")
        place = self.recorder.directory.path
        raise Interrupted(f"stopped at step {self.position.step}; the same command continues {place}")

    def save(self, status: str, **facts: Any) -> None:
        """Write checkpoint and status; the curves that it continues reach the disk first. Not training time."""
        counts = self.timer.running
        self.timer.stop()
        self.recorder.flush()
        self.checkpointer.save(self.position, self.accumulator)
        self.recorder.status(status, self.position.step, **facts)
        if counts:
            self.timer.start()

    def _environment(self) -> dict[str, Any]:
        return environment(self.config, self.data, self.components)
