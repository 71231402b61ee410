"""When a run is saved, what is saved beside weights and optimizer, and how it is continued."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import torch

from normexp.errors import UserError
from normexp.records import CHECKPOINT, METRICS, MOST_TABLE, PROBES, Damaged, damaged, read_rows
from normexp.records.files import quarantine
from normexp.runs.checkpoint import Checkpoint, load_checkpoint, write_checkpoint
from normexp.runs.checkpoint_form import check_facts
from normexp.runs.known_curves import check_curves, cut_curves, known_curves
from normexp.training.components import Components
from normexp.training.metrics import MetricAccumulator

SAVE_INTERVAL = 10.0  # seconds between checkpoints: the most work that a killed run does twice


@dataclass
class Position:
    """How far a run is.

    Args:
        step: updates done.
        last_loss: of the last update before those that the accumulator holds; None at the start.
    """

    step: int = 0
    last_loss: float | None = None


def next_save(began: float) -> float:
    """Return when to save again after a save that began at a time: saving stays under five percent of it all."""
    now = time.monotonic()
    return now + max(SAVE_INTERVAL, 20 * (now - began))


class Checkpointer:
    """Saves a run and continues it; large ones less often, see `next_save`.

    Wall-clock times stay out of the checkpoint: equal runs end in equal bytes.

    Args:
        directory: of the run.
        fingerprint: of the data.
        identity: of the run's configuration.
    """

    def __init__(self, directory: Path, components: Components, fingerprint: str, identity: str) -> None:
        self.directory, self.components = directory, components
        self.fingerprint, self.identity = fingerprint, identity
        self.path = directory / CHECKPOINT
        self._next = next_save(time.monotonic())
        self._known: dict[str, list[object]] = {}  # of the curves, by the checkpoint that was restored

    def due(self) -> bool:
        """Tell whether it is time to save."""
        return time.monotonic() >= self._next

    def save(self, position: Position, accumulator: MetricAccumulator, path: Path | None = None) -> None:
        """Write the checkpoint, or the same to another path; the curves it counts on have to be on the disk."""
        began = time.monotonic()
        window = {"losses": accumulator.losses[: accumulator.steps], "hits": accumulator.num_correct}
        write_checkpoint(
            path or self.path,
            self.components.model,
            self.components.optimizer,
            window,
            step=position.step,
            last_loss=position.last_loss,
            data=self.fingerprint,
            run=self.identity,
            threads=torch.get_num_threads(),
            curves=known_curves(self.directory),
        )
        self._next = next_save(began)

    def restore(self, accumulator: MetricAccumulator) -> Position:
        """Load the checkpoint, and the accumulator's part of it; the process computes on as many threads as then.

        Raises: UserError for other data; Damaged for a damaged checkpoint or damaged curves, which are quarantined.
            Nothing has been restored then.
        """
        try:
            checkpoint = self._load(accumulator)
        except Damaged:
            for name in (CHECKPOINT, METRICS, PROBES):
                quarantine(self.directory / name)
            raise
        facts, window = checkpoint.facts, checkpoint.part("window")
        checkpoint.restore(self.components.model, self.components.optimizer)
        accumulator.restore(window["losses"], window["hits"], self.components.batches.batch_size)
        if "threads" in facts:
            torch.set_num_threads(facts["threads"])
        self._known = facts.get("curves", {})
        return Position(facts["step"], facts["last_loss"])

    def cut_curves(self) -> None:
        """Drop the rows that the restored checkpoint does not count on."""
        cut_curves(self.directory, self._known)

    def _load(self, accumulator: MetricAccumulator) -> Checkpoint:
        """Read the checkpoint and hold it, and the curves, to what they must be."""
        checkpoint = load_checkpoint(self.path, self.components.model, self.components.optimizer)
        facts, window = checkpoint.facts, checkpoint.part("window")
        try:
            check_facts(facts, window, self.components.steps, len(accumulator.losses))
        except ValueError as error:
            raise damaged(self.path, error) from None
        if facts["data"] != self.fingerprint:
            raise UserError(
                f"{self.directory}: was begun with other data (sha256 {facts['data'][:12]}..., now "
                f"{self.fingerprint[:12]}...); --force starts it again with these"
            )
        if facts.get("run", self.identity) != self.identity:  # older versions did not tell it
            raise damaged(self.path, f"it is of the run {facts['run']!r}, this is {self.identity}")
        self._check_curves(facts["step"] - len(window["losses"]), facts.get("curves", {}))
        return checkpoint

    def _check_curves(self, step: int, curves: dict[str, list[object]]) -> None:
        """Raise UserError if the curves up to the checkpoint's last evaluation are not those it was saved with."""
        check_curves(self.directory, curves)
        if not {"0", str(step)} <= {row["step"] for row in read_rows(self.directory / METRICS, MOST_TABLE)}:
            why = f"it has no row of step 0 or of step {step}, which the checkpoint continues"
            raise damaged(self.directory / METRICS, why)
