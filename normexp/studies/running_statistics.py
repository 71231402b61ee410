"""Estimates of mean and deviation for test time, beside the population's, while a network trains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from normexp.errors import UserError
from normexp.seeding import stream
from normexp.studies.arithmetic.estimates import Statistics, average, exponential, observed
from normexp.studies.arithmetic.lengths import root_mean_square
from normexp.studies.base import Number, Outcome, Row, Study, StudyContext
from normexp.training.batches import EVALUATION_BATCH, Batch, TrainingBatches, sequential_batches
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.metrics import evaluate

PLACE = "Testing Time"  # the section of the notes


@dataclass(frozen=True, kw_only=True)
class RunningStatistics(Study):
    """Train with batch normalization; on the way, put one estimate in place of its running statistics and test it.

    All estimates see the same training: in training mode none of them is used. The reference is the training
    split as one batch under the same weights, each layer behind layers normalized by that batch.

    Args:
        estimate: `whole`, the reference itself; `population`, averages over further training batches with the
            weights fixed; `training_average`, over all batches of the training so far; `exponential`.
        unbiased: multiply the averages of variances by m / (m - 1), m values per channel in a batch.
        momentum, of, start: of `exponential`: the new batch's weight, `variance` or `deviation`, and what that
            average starts at.
        passes: over the training split, for `population`.
        examples: of the training split in the reference, at most.

    Steps of the curves count updates: 1, 2, 5, 10, 20, 50, ... and the last.
    """

    estimate: str = "exponential"
    unbiased: bool = True
    momentum: float = 0.1
    of: str = "variance"
    start: float = 1.0
    passes: int = 2
    examples: int = 10_000

    def measure(self, context: StudyContext) -> Outcome:
        components = context.components
        if components.task.metric != "accuracy":
            raise UserError(f"study=running_statistics: dataset={context.config.choices['dataset']} has no classes")
        layers = normalizations(components.model)
        rows, history = [], []
        updates = fit(components)
        for done in range(1, components.steps + 1):
            history.append(observed(layers, lambda: next(updates)))
            if done in evaluated_steps(components.steps):
                rows.append({"step": done, **self._errors(context, layers, history)})
        return Outcome(rows, numbers=list(conventions()))

    def _errors(self, context: StudyContext, layers: Sequence[_BatchNorm], history: Sequence[Statistics]) -> Row:
        components = context.components
        whole = whole_split(components, layers, self.examples)
        found = self._estimated(context, layers, history, whole)
        put(layers, found)
        tested = evaluate(components, sequential_batches(components.evaluated["test"], EVALUATION_BATCH))
        ratio = found.std / whole.std
        return {
            "mean_error": root_mean_square((found.mean - whole.mean) / whole.std),
            "deviation_error": root_mean_square(ratio - 1),
            "deviation_bias": float(ratio.mean() - 1),
            "test_loss": tested["loss"],
            "test_accuracy": tested["accuracy"],
        }

    def _estimated(
        self, context: StudyContext, layers: Sequence[nn.Module], history: Sequence[Statistics], whole: Statistics
    ) -> Statistics:
        match self.estimate:
            case "whole":
                return whole
            case "population":
                return average(fixed_weights(context, layers, self.passes), self.unbiased)
            case "training_average":
                return average(history, self.unbiased)
        return exponential(history, self.momentum, self.of, self.start)


def normalizations(model: nn.Module) -> list[_BatchNorm]:
    """Return the batch normalizations in order. Raises UserError where there is none, or none that torch averages."""
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        raise UserError("study=running_statistics: the network has no batch normalization; give norm=batch")
    return layers


def evaluated_steps(steps: int) -> set[int]:
    """Return 1, 2, 5, 10, 20, 50, ... up to the last step, and that."""
    return {n * 10**power for power in range(len(str(steps))) for n in (1, 2, 5) if n * 10**power <= steps} | {steps}


def fixed_weights(context: StudyContext, layers: Sequence[nn.Module], passes: int) -> list[Statistics]:
    """Return the statistics of further training batches, in another order, under the weights as they are."""
    own = context.components.batches
    batches = TrainingBatches(own.examples, own.batch_size, stream(context.seed, "population"))
    return list(_forward(context.components, layers, islice(batches.from_step(0), passes * batches.steps_per_epoch)))


def whole_split(components: Components, layers: Sequence[nn.Module], examples: int) -> Statistics:
    """Return the statistics of the training split (at most so many examples of it) as one batch."""
    (found,) = _forward(components, layers, [components.batches.first(examples)])
    return found


def _forward(components: Components, layers: Sequence[nn.Module], batches: Iterable[Batch]) -> Iterator[Statistics]:
    for x, _ in batches:
        with torch.no_grad(), components.autocast():
            yield observed(layers, lambda: components.forward(x))  # noqa: B023  called at once


def put(layers: Sequence[_BatchNorm], statistics: Statistics) -> None:
    """Make the statistics those that evaluation uses."""
    sizes = [layer.num_features for layer in layers]
    means, variances = statistics.mean.split(sizes), statistics.var.split(sizes)
    for layer, mean, var in zip(layers, means, variances, strict=True):
        assert layer.running_mean is not None
        assert layer.running_var is not None
        layer.running_mean.copy_(mean)
        layer.running_var.copy_(var)


def conventions() -> Iterator[Number]:
    """Yield what the notes say of PyTorch, beside what torch's own layer does with the batch {1, 3}."""
    layer = nn.BatchNorm1d(1)
    batch = torch.tensor([[1.0], [3.0]])
    before, momentum = _estimates(layer), layer.momentum or 0.0
    layer(batch)
    after = _estimates(layer)
    yield from _of_momentum(momentum, before[0], float(batch.mean()), after[0])
    unbiased = (1 - momentum) * before[1] + momentum * float(batch.var(correction=1))
    yield from _of_deviation(before, after[1], unbiased)


def _estimates(layer: nn.BatchNorm1d) -> tuple[float, float]:
    """Return the running mean and the running variance of a layer of one feature."""
    assert layer.running_mean is not None
    assert layer.running_var is not None
    return float(layer.running_mean), float(layer.running_var)


def _of_momentum(momentum: float, start: float, batch_mean: float, mean: float) -> Iterator[Number]:
    """Yield what momentum is, and which estimate it is the weight of.

    Args:
        start, mean: the running mean before the batch and behind it.
    """
    written = momentum * start + (1 - momentum) * batch_mean
    swapped = (1 - momentum) * start + momentum * batch_mean
    yield Number("S004", PLACE, "default value of PyTorch's momentum", "0.1", momentum)
    yield Number(
        "S004",
        PLACE,
        "alpha, the weight of the old estimate, is what PyTorch calls momentum",
        "alpha mu + (1 - alpha) mu_i",
        f"batch {{1, 3}}: {written:.4g} by this formula, {mean:.4g} in torch",
        agrees=abs(mean - written) < 1e-6,
        remark=f"momentum is the weight of the new batch (1 - 0.1 of the old one gives {swapped:.4g}); the alpha of "
        "the formula corresponds to 0.9",
    )


def _of_deviation(start: tuple[float, float], var: float, unbiased: float) -> Iterator[Number]:
    """Yield where the running estimates start, and what is averaged for testing.

    Args:
        start: running mean and variance before the batch.
        var: the running variance behind it.
        unbiased: what the average of unbiased variances would be.
    """
    yield Number("S004", PLACE, "start of the running mean, in PyTorch", "0", start[0])
    yield Number(
        "S004",
        PLACE,
        "start of the running deviation, in PyTorch",
        "0",
        start[1] ** 0.5,
        remark="the variance starts at 1; from 0, and without eps, the first test would divide by 0",
    )
    yield Number(
        "S004",
        PLACE,
        "what PyTorch averages for testing is the deviation",
        "sigma_i",
        f"batch {{1, 3}}: running_var {var:.4g}; the average of unbiased variances gives {unbiased:.4g}",
        agrees=abs(var - unbiased) > 1e-6,
        remark="torch and the paper average the unbiased variance; the root of that is larger than the average of "
        "the deviations",
    )
