"""How large a learning rate a configuration can take, and what it learns in a given number of steps at its best one."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from normexp.data.base import Data
from normexp.errors import UserError
from normexp.studies.arithmetic.descent import bisected
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.batches import Examples, sequential_batches
from normexp.training.build import build_optimizer
from normexp.training.components import Components, Hyperparameters
from normexp.training.fit import fit
from normexp.training.metrics import evaluate

Curve = list[tuple[int, float, float]]  # (steps, validation rmse, test rmse)

LARGE_BATCH = 4096  # of evaluations


@dataclass(frozen=True, kw_only=True)
class LearningRate(Study):
    """A regression trained from the same initial weights at many rates.

    The largest stable rate is found by bisection of its logarithm: stable is a rate after whose trial the training
    loss is finite and no larger than before. Then the network is trained for `steps` at that rate and at smaller
    ones; the one with the lowest final validation error counts. Steps are counted until the test error is within
    `margin` of that of the exact least-squares fit, which no input normalization changes; inf where it never is.

    Args:
        trial: steps of a trial.
        bisections: of the logarithm of the rate, between `low` and `high`.
        rates, factor: how many rates are trained, and by what each one is smaller than the one before.
        margin: relative.

    Source: LeCun et al. 1998, "Efficient BackProp", section 4.7, for what limits the rate; the protocol is ours.
    """

    trial: int = 40
    bisections: int = 8
    low: float = 1e-9
    high: float = 1e2
    rates: int = 4
    factor: float = 8.0
    margin: float = 0.1

    def measure(self, context: StudyContext) -> Outcome:
        if self.low >= self.high:
            raise UserError(f"study.low={self.low:g}: must be below study.high={self.high:g}")
        _check(context)
        trials = Trials(context)
        largest = bisected(lambda rate: trials.is_stable(rate, self.trial), self.low, self.high, self.bisections)
        curves = {rate: trials.curve(rate) for rate in (largest / self.factor**k for k in range(self.rates))}
        rate, curve = min(curves.items(), key=lambda item: _finite(item[1][-1][1]))
        target = (1 + self.margin) * least_squares_error(context.data)
        row = {
            "largest_rate": largest,
            "best_rate": rate,
            "steps_to_target": next((steps for steps, _, error in curve if error <= target), math.inf),
            "test_rmse": curve[-1][2],
            "target_rmse": target,
        }
        table = [{"step": steps, "test_rmse": error} for steps, _, error in curve]
        return Outcome([{"step": 0, **row}], {"curve": table})


class Trials:
    """One network, trained again and again from the same weights, on the same batches."""

    def __init__(self, context: StudyContext) -> None:
        self.context, self.components = context, context.components
        self.start = copy.deepcopy(self.components.model.state_dict())

    def is_stable(self, rate: float, steps: int) -> bool:
        """Return whether the training loss is finite and no larger after so many steps."""
        for _ in self._train(rate, steps, steps):
            pass
        return self._training_loss() <= self.first_loss  # NaN is not

    def curve(self, rate: float) -> Curve:
        """Train for all steps; evaluate every `eval_every` of them."""
        components = self.components
        return [
            (done, self._error("validation"), self._error("test"))
            for done in self._train(rate, components.steps, components.eval_every)
        ]

    @cached_property
    def first_loss(self) -> float:
        self.components.model.load_state_dict(self.start)
        return self._training_loss()

    def _train(self, rate: float, steps: int, every: int) -> Iterator[int]:
        """Train from the start; yield the number of steps done after every so many, and at the end."""
        self.components.model.load_state_dict(self.start)
        for update in fit(self._at(rate), stop=steps):
            if update.done % every == 0 or update.done == steps:
                yield update.done

    def _at(self, rate: float) -> Components:
        """Return the components with a new optimizer, and `rate` as the base rate of the schedule."""
        components, config = self.components, self.context.config

        def schedule(step: int) -> Hyperparameters:
            values = components.schedule(step)
            return {**values, "lr": rate * values["lr"] / config["optim"]["lr"]}

        optimizer = build_optimizer(config, components.model, components.device)
        return replace(components, optimizer=optimizer, schedule=schedule)

    def _training_loss(self) -> float:
        return self._evaluated(self.components.batches.examples)["loss"]

    def _error(self, split: str) -> float:
        return self._evaluated(self.components.evaluated[split])["rmse"]

    def _evaluated(self, examples: Examples) -> dict[str, float]:
        self.components.before_evaluation()
        return evaluate(self.components, sequential_batches(examples, LARGE_BATCH))


def least_squares_error(data: Data) -> float:
    """Return the test RMSE of the exact least-squares fit, with a bias, to the raw inputs; in the target's units."""
    x, test_x = (
        np.column_stack([split.x, np.ones(len(split))]).astype(np.float64) for split in (data.train, data.test)
    )
    scale = np.abs(x).max(axis=0)
    weights = np.linalg.lstsq(x / scale, data.train.y.astype(np.float64))[0]
    return float(data.target_scale * np.sqrt(np.mean((test_x / scale @ weights - data.test.y) ** 2)))


def _check(context: StudyContext) -> None:
    data = context.data
    if data.task != "regression" or data.train.x.ndim != 2:
        raise UserError(f"study=learning_rate: dataset={context.config.choices['dataset']} is no regression on a table")
    if not len(data.validation):
        raise UserError("dataset.validation=0: study=learning_rate chooses the rate on a validation split")


def _finite(error: float) -> float:
    return error if math.isfinite(error) else math.inf
