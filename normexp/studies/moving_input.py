"""Inputs whose distribution moves while a network trains: what becomes of the distributions inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from torch import Tensor

from normexp.errors import UserError
from normexp.probes.base import inputs_of
from normexp.probes.layers import nonlinearities
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.training.batches import EVALUATION_BATCH, Batch, TrainingBatches, sequential_batches
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.metrics import evaluate

Moments = dict[str, tuple[Tensor, Tensor]]  # nonlinearity -> mean and variance of what enters each of its units


@dataclass(frozen=True, kw_only=True)
class MovingInput(Study):
    """Train on inputs that move, and follow what enters the nonlinearities.

    At update t of T all features of all examples, as the network is given them, are `drift` t / T larger; labels stay
    with their examples. At every evaluation examples of the test split, moved as far, pass in evaluation mode. A unit's
    shift is the distance between the means of what enters it at this evaluation and at the one before, in standard
    deviations (root mean square of the two); that of a nonlinearity is the root mean square over its units, of maps
    over channels. The first evaluation has none before it and is no row.

    Args:
        drift: of the last update; in standard deviations for inputs=standardize.
        evaluations: evenly over the training.
        examples: of the test split whose distributions are followed, at most.

    Raises: UserError for data without classes, a network without nonlinearities, more evaluations than updates.

    Source: Zuo 2018, "Normalization tricks", definition 0.1, for what moves; the set-up is ours.
    """

    drift: float = 2.0
    evaluations: int = 20
    examples: int = 1000

    def measure(self, context: StudyContext) -> Outcome:
        components = context.components
        self._check(components)
        moving = Moving(components.batches, self.drift / components.steps)
        walk = Walk(replace(components, batches=moving), moving, components.evaluated["test"].first(self.examples))
        asked = {round(components.steps * k / self.evaluations) for k in range(1, self.evaluations + 1)}
        return Outcome(
            [row for update in fit(walk.components) if update.done in asked for row in walk.rows(update.done)]
        )

    def _check(self, components: Components) -> None:
        metric = components.task.metric
        if metric != "accuracy":
            raise UserError(f"study=moving_input: needs classes; these data have none, their metric is {metric}")
        if not nonlinearities(components.model):
            raise UserError("study=moving_input: the network has no nonlinearity")
        if self.evaluations > components.steps:
            raise UserError(f"study.evaluations={self.evaluations}: more than the updates, steps={components.steps}")


class Moving(TrainingBatches):
    """The batches of a training, whose inputs move from update to update.

    Args:
        batches: those of the training, standing still.
        pace: by how much all features become larger with every update.
    """

    def __init__(self, batches: TrainingBatches, pace: float) -> None:
        super().__init__(batches.examples, batches.batch_size, batches.seed)
        self.pace, self.done = pace, 0

    def from_step(self, step: int) -> Iterator[Batch]:
        for self.done, batch in enumerate(super().from_step(step), start=step + 1):
            yield self.moved(batch)

    def first(self, count: int) -> Batch:
        return self.moved(super().first(count))

    def moved(self, batch: Batch) -> Batch:
        """Return a batch with its inputs where they are now."""
        x, y = batch
        return x + self.pace * self.done, y


@dataclass
class Walk:
    """A training whose inputs move.

    Args:
        followed: examples whose distributions are followed, standing still.
        before: their moments at the last evaluation.
    """

    components: Components
    moving: Moving
    followed: Batch
    before: Moments = field(default_factory=dict)

    def rows(self, done: int) -> Iterator[Row]:
        """Yield what an evaluation finds; the first one finds nothing yet."""
        self.components.before_evaluation()
        before, self.before = self.before, self._moments()
        if before:
            shifts = [shift(before[name], now) for name, now in self.before.items()]
            inside = {"first_shift": shifts[0], "last_shift": shifts[-1], "largest_shift": max(shifts)}
            yield {"step": done, **inside, **self._accuracies()}

    def _moments(self) -> Moments:
        model, (x, _) = self.components.model, self.moving.moved(self.followed)
        entering = inputs_of(model, nonlinearities(model), x)
        return {name: _over_units(values) for name, values in entering.items()}

    def _accuracies(self) -> dict[str, float]:
        found = {}
        for name, examples in self.components.evaluated.items():
            batches = map(self.moving.moved, sequential_batches(examples, EVALUATION_BATCH))
            found[f"{name}/accuracy"] = evaluate(self.components, batches)["accuracy"]
        return found


def shift(before: tuple[Tensor, Tensor], now: tuple[Tensor, Tensor]) -> float:
    """Return the root mean square over units of the distance between two means, in standard deviations.

    Args:
        before, now: mean and variance of every unit, (D,) each. Of one whose input is a constant the shift is 0 where
            that stays, else inf.
    """
    distance, variance = now[0] - before[0], (now[1] + before[1]) / 2
    squares = (distance.square() / variance).where(distance != 0, 0.0)
    return float(squares.mean().sqrt())


def _over_units(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance of each unit (N, D), or channel of maps (N, C, H, W)."""
    units = values.double().transpose(0, 1).flatten(1)
    return units.mean(1), units.var(1, correction=0)
