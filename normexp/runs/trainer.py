"""One built configuration -> one trained, recorded run directory; stoppable at any instant and resumable."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import torch

from normexp.config import Config
from normexp.data.base import Data
from normexp.errors import Interrupted, UserError
from normexp.probes.base import Row, Situation
from normexp.records import CHECKPOINT, FINISHED, METRICS, RunDirectory, read_rows
from normexp.runs.checkpoint import read_checkpoint, write_checkpoint
from normexp.runs.progress import Display, Silence
from normexp.runs.recorder import Recorder
from normexp.runs.signals import stop_signals
from normexp.seeding import stream
from normexp.training.batches import EVALUATION_BATCH, Batch, in_order
from normexp.training.build import Parts, build, initialize_from_data
from normexp.training.hardware import describe, peak_memory
from normexp.training.loop import Window, evaluate, train

LOOK_EVERY = 0.2  # seconds between looks at the clock's other duties: bar, divergence, checkpoint
SAVE_EVERY = 10.0  # seconds between checkpoints: the most work that a killed run does twice


def execute(config: Config, data: Data, directory: RunDirectory, force: bool, display: Display = Silence) -> str:
    """Train to the end and return the final status, `done` or `diverged`.

    Nothing is written before every part is built, so that a mistake leaves no trace.

    Args:
        force: start again, whatever earlier attempts left.
        display: what shows the progress.

    Raises: UserError for parts that do not fit, Interrupted after Ctrl-C or SIGTERM.
    """
    parts = build(config, data)
    try:
        directory.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"results_dir: cannot make {directory.path} ({error.strerror})") from None
    stopped = threading.Event()
    with directory.lock(), stop_signals(stopped.set):
        status = str(directory.status["status"])  # read again: another process may have finished it meanwhile
        if status in FINISHED and not force:
            return status
        restart = force or status == "new"
        return Execution(config, data, parts, directory, stopped, restart).run(display)


class Execution:
    """The state of one run: steps done, and what happened since the last evaluation (the window)."""

    def __init__(
        self,
        config: Config,
        data: Data,
        parts: Parts,
        directory: RunDirectory,
        stopped: threading.Event,
        restart: bool,
    ) -> None:
        self.config, self.data, self.parts, self.stopped, self.restart = config, data, parts, stopped, restart
        self.checkpoint = directory.path / CHECKPOINT
        names = ("loss", parts.task.score)
        columns = [f"{split}/{name}" for split in ("train", *parts.evaluated) for name in names]
        self.recorder = Recorder(directory, columns, parts.steps, restart)
        self.window = Window.of(min(parts.eval_every, parts.steps), parts.device)
        self.step = 0  # updates done
        self.last_loss: float | None = None  # of the last step before this window

    def run(self, display: Display) -> str:
        resumed = self._begin()
        batches = self.parts.batches
        self.progress = display(self.parts.steps, batches.steps_per_epoch, batches.batch_size, self.step)
        try:
            if not resumed:
                self._record(self._evaluate())
            return self._train()
        except Interrupted:
            raise
        except BaseException as error:
            self.recorder.failed(self.step, error)
            raise
        finally:
            self.progress.close()

    def _begin(self) -> bool:
        """Continue from the checkpoint, or prepare step 0. Returns whether there was one to continue from."""
        resumed = not self.restart and self.checkpoint.exists()
        if resumed:
            self._restore()
        else:
            self.checkpoint.unlink(missing_ok=True)
            self.recorder.seconds = 0.0
            initialize_from_data(self.parts, self.config["seed"])
            torch.manual_seed(stream(self.config["seed"], "noise"))  # dropout and noise draw from torch's global stream
        keep_until = self.step - self.window.steps if resumed else -1
        if resumed:
            self._check_curves(keep_until)
        environment = self._environment()
        self.recorder.status("running", self.step)  # before anything else: a killed --force is no finished run
        self.recorder.begin(keep_until, self.config.to_yaml(), environment)
        return resumed

    def _restore(self) -> None:
        """Load the checkpoint; set a damaged one aside. Raises UserError for that, and for other data."""
        try:
            window, facts = read_checkpoint(self.checkpoint, self.parts.model, self.parts.optimizer)
        except UserError as error:
            aside = self.checkpoint.with_suffix(".damaged")
            self.checkpoint.rename(aside)
            raise UserError(f"{error}; it was set aside as {aside.name}: run again to start afresh") from None
        if facts["data"] != self._fingerprint:
            raise UserError(
                f"{self.checkpoint.parent}: was begun with other data (sha256 {facts['data'][:12]}..., now "
                f"{self._fingerprint[:12]}...); --force starts it again with these"
            )
        self.step, self.last_loss = facts["step"], facts["last_loss"]
        self.window.restore(window["losses"], window["hits"])

    def _check_curves(self, step: int) -> None:
        """Raise UserError if the curves do not reach back to the start and up to the checkpoint's last evaluation."""
        steps = [row["step"] for row in read_rows(self.checkpoint.parent / METRICS)]
        if not {"0", str(step)} <= set(steps):
            raise UserError(
                f"{self.checkpoint.parent / METRICS}: damaged (it has no row of step 0 or of step {step}, which the "
                "checkpoint continues); --force starts the run again"
            )

    def _train(self) -> str:
        parts, batches = self.parts, self.parts.batches.from_step(self.step)
        step = parts.step()
        self._clock = self._next_look = time.monotonic()
        self._next_save = self._next_look + SAVE_EVERY
        while self.step < parts.steps or self.window.steps:
            if self._window_is_full():
                self._close_window()
                continue
            stop = min(parts.steps, (self.step // parts.eval_every + 1) * parts.eval_every)
            self._clock = time.monotonic()  # evaluations do not count as training time
            self.step = train(
                step, parts.task, batches, self.window, parts.optimizer, parts.settings, self.step, stop, self._watch
            )
            self._tick()
            if self._diverged():
                return "diverged"
            if self.stopped.is_set():
                self._stop()
        self._save("done")
        return "done"

    def _watch(self, done: int) -> bool:
        """Called after every step; does its other duties only a few times a second."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY
            self.step = done
            self.progress.look(done, self.window.last_loss())
            if self.window.first_nonfinite() is not None:
                return True
            if now >= self._next_save:
                self._save("running")
        return self.stopped.is_set()

    def _window_is_full(self) -> bool:
        at_end = self.step == self.parts.steps or self.step % self.parts.eval_every == 0
        return at_end and self.window.steps > 0

    def _close_window(self) -> None:
        """Evaluate and record; then the next window begins."""
        trained = self.window.measures(self.parts.task, self.parts.batches.batch_size)
        self._record({**{f"train/{name}": value for name, value in trained.items()}, **self._evaluate()})
        images = self.step * self.parts.batches.batch_size
        self.recorder.timings(self.step, images, peak_memory(self.parts.device))
        self.last_loss = self.window.last_loss()
        self.window.clear()

    def _record(self, measured: dict[str, float]) -> None:
        epoch = self.step / self.parts.batches.steps_per_epoch
        self.recorder.curves(self.step, epoch, self.parts.rate(self.step), measured)
        self.recorder.probe(self.step, self._probe())
        self.progress.evaluated(self.step, measured)

    def _probe(self) -> list[Row]:
        """Let the probe look at the network itself: its compiled form would not run the hooks."""
        parts, test = self.parts, self.parts.evaluated["test"]
        situation = Situation(
            model=parts.model,
            test=lambda count: test.take(torch.arange(min(count, len(test)), device=parts.device)),
            training=parts.batches.first,
            loss=parts.task.loss,
            rate=parts.rate(self.step),
        )
        return parts.probe.rows(self.config.choices["probe"], situation)

    def _evaluate(self) -> dict[str, float]:
        parts, row = self.parts, {}
        parts.before_evaluation()
        for split, examples in parts.evaluated.items():
            batches = self._until_stopped(in_order(examples, EVALUATION_BATCH))
            measured = evaluate(parts.forward, parts.task, batches, parts.autocast)
            row.update({f"{split}/{name}": value for name, value in measured.items()})
        return row

    def _diverged(self) -> bool:
        """Record the first loss that is not finite, if there is one, as the end of the run."""
        place = self.window.first_nonfinite()
        if place is None:
            return False
        self.step += place + 1 - self.window.steps
        loss, before = float(self.window.losses[place]), self.window.losses[:place]
        last = float(before[-1]) if place else self.last_loss
        cause = f"the training loss became {loss}"
        self.recorder.status("diverged", self.step, cause=cause, last_finite_loss=last)
        return True

    def _until_stopped(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Pass the batches of an evaluation on: a long one must not keep the user, or the batch system, waiting."""
        for batch in batches:
            if self.stopped.is_set():
                self._stop()
            yield batch

    def _stop(self) -> None:
        """Save and end. Before the first step there is nothing to save, and no row of step 0 to continue from."""
        if self.step:
            self._clock = time.monotonic()
            self._save("interrupted", cause="stopped by a signal")
        else:
            self.recorder.status("interrupted", 0, cause="stopped by a signal")
        raise Interrupted(f"stopped at step {self.step}; the same command continues {self.checkpoint.parent}")

    def _save(self, status: str, **facts: Any) -> None:
        """Write checkpoint and status; large ones less often, so that saving stays under five percent of the time.

        Wall-clock times stay out of the checkpoint: equal runs end in equal bytes.
        """
        self._tick()
        state = {"step": self.step, "last_loss": self.last_loss, "data": self._fingerprint}
        window = {"losses": self.window.losses[: self.window.steps], "hits": self.window.hits}
        write_checkpoint(self.checkpoint, self.parts.model, self.parts.optimizer, window, **state)
        self.recorder.status(status, self.step, **facts)
        spent = time.monotonic() - self._clock
        self._clock = time.monotonic()
        self._next_save = self._clock + max(SAVE_EVERY, 20 * spent)

    def _tick(self) -> None:
        """Add the time since the last tick to the training time."""
        now = time.monotonic()
        self.recorder.seconds += now - self._clock
        self._clock = now

    @cached_property
    def _fingerprint(self) -> str:
        return self.data.fingerprint

    def _environment(self) -> dict[str, Any]:
        sizes = {name: len(examples) for name, examples in self.parts.evaluated.items()}
        return {
            **describe(self.parts.device, self.parts.threads),
            "precision": self.config["precision"],
            "parameters": sum(parameter.numel() for parameter in self.parts.model.parameters()),
            "data": {
                "note": self.data.note,
                "sha256": self._fingerprint,
                "content": self.config.content,
                "examples": {"train": len(self.parts.batches.examples), **sizes},
            },
        }
