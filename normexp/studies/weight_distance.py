"""How far training takes the weights from their start, by the number of updates and the size of the batch."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from normexp.errors import UserError
from normexp.probes.layers import free_weights
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.studies.update_noise import POWERS
from normexp.training.batches import TrainingBatches
from normexp.training.build import build_optimizer
from normexp.training.components import Components, Hyperparameters
from normexp.training.fit import fit

Distances = Mapping[int, float]  # updates done -> Euclidean distance of the first layer's weight from its start
LEAST = 4  # distances that a line is drawn through


@dataclass(frozen=True, kw_only=True)
class WeightDistance(Study):
    """The distance of the first layer's weight from its start, after 1, 2, 4, ... updates, at two sizes of the batch.

    One network is trained for all updates in batches of `batch_size`, and again, from the same weights, in batches of
    `reference`, at the rate of the configuration; that of the former is (batch_size / reference)^(1/2) times as large,
    or as the latter's. From `first` updates on, `line` is the least-squares line a + b ln t through the distances of
    the former and `reference_line` that of the latter; `relative` is the one distance over the other.

    Derived: where the loss at two points differs by about their distance, a walk crosses barriers that grow with it,
    which takes time exponential in the distance: distance = b ln(t / t0) (1 + O(1 / ln t)). So a remainder of 1 / ln t
    of the line. The walk is driven by the noise of the updates, which the root of the batch size keeps as it is (study
    update_noise). What the batch's mean gradient adds grows with the rate, at most by the root; and with one rate
    for all the walk alone would be shorter by the root. So the ratio is nearer to 1 than to either, its logarithm
    being within a quarter of ln(batch_size / reference); `remainder` is what that allows above 1, on either side.

    `misfit` is the root mean square distance from the line over that from a line in t^(1/4), as weights grow whose
    length does not count: ||w||^4 is linear in t.

    Args:
        reference: examples of the smaller batch.
        scaling: of the larger batch's rate: `root`, `linear` or `none`.
        first: number of updates from which on the law is asked.

    Raises: UserError for a network without weights; for fewer than four distances from `first` on.

    Source: Hoffer, Hubara & Soudry 2017, arXiv:1705.08741; the distance is that of the authors' code.
    """

    reference: int = 128
    scaling: str = "root"
    first: int = 16

    def measure(self, context: StudyContext) -> Outcome:
        components, size = context.components, context.config["batch_size"]
        asked = [t for t in measured(components.steps) if t >= self.first]
        if len(asked) < LEAST:
            raise UserError(
                f"steps={components.steps}: needs at least {self.first * 2 ** (LEAST - 1)}, since the law is asked "
                f"of {LEAST} distances or more, from study.first={self.first} on"
            )
        trial = Trial(context, copy.deepcopy(components.model.state_dict()))
        near = trial.distances(self.reference, 1.0)
        factor = (size / self.reference) ** POWERS[self.scaling]
        far = near if size == self.reference else trial.distances(size, factor)
        lines = (line(far, asked), line(near, asked))
        margin = max(size / self.reference, self.reference / size) ** 0.25 - 1
        misfit = misfits(far, asked)
        return Outcome([self._row(t, near[t], far[t], lines, margin, misfit) for t in far])

    def _row(
        self, t: int, near: float, far: float, lines: tuple[Distances, Distances], margin: float, misfit: float
    ) -> dict[str, object]:
        of, beside = (each.get(t, math.nan) for each in lines)
        asked = t >= self.first
        order = 1 / math.log(t) if asked else math.nan
        relative = far / near if near else math.nan  # of weights that do not move
        return {"step": t, "distance": far, "line": of, "line_remainder": abs(of) * order, "reference": near,
                "reference_line": beside, "reference_remainder": abs(beside) * order, "relative": relative,
                "formula": 1.0 if asked else math.nan, "remainder": margin, "misfit": misfit}  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One network that is trained again and again from the same weights."""

    context: StudyContext
    start: Mapping[str, object]

    def distances(self, size: int, factor: float) -> Distances:
        """Train in batches of a size, at the configuration's rate times a factor."""
        components = self.context.components
        components.model.load_state_dict(self.start)
        weights = free_weights(components.model)
        if not weights:
            raise UserError("study=weight_distance: the network has no Linear and no Conv layer")
        weight = next(iter(weights.values())).value
        first, wanted = weight.detach().clone(), measured(components.steps)
        return {update.done: float((weight.detach() - first).norm())
                for update in fit(self._at(components, size, factor)) if update.done in wanted}  # fmt: skip

    def _at(self, components: Components, size: int, factor: float) -> Components:
        def schedule(step: int) -> Hyperparameters:
            values = components.schedule(step)
            return {**values, "lr": factor * values["lr"]}

        batches = TrainingBatches(components.batches.examples, size, components.seed)
        optimizer = build_optimizer(self.context.config, components.model, components.device)
        return replace(components, batches=batches, optimizer=optimizer, schedule=schedule)


def measured(steps: int) -> list[int]:
    """Return 1, 2, 4, ..., at most the number of steps."""
    return [2**k for k in range(steps.bit_length()) if 2**k <= steps]


def line(distances: Distances, asked: Sequence[int], power: float = 0.0) -> Distances:
    """Return the least-squares line in t^power through the distances that are asked for; with power 0 in ln t."""
    x = np.array([t**power if power else math.log(t) for t in asked])
    slope, start = np.polyfit(x, [distances[t] for t in asked], 1)
    return dict(zip(asked, map(float, start + slope * x), strict=True))


def misfits(distances: Distances, asked: Sequence[int]) -> float:
    """Return the root mean square distance from the line in ln t over that from the line in t^(1/4)."""
    squares = [
        sum((distances[t] - fitted) ** 2 for t, fitted in line(distances, asked, power).items())
        for power in (0.0, 0.25)
    ]
    return math.sqrt(squares[0] / squares[1]) if squares[1] else math.nan
