"""How much of an update is noise, by the size of the batch and how the rate is scaled with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.errors import UserError
from normexp.seeding import generator
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.components import Components

POWERS = {"root": 0.5, "linear": 1.0, "none": 0.0}


@dataclass(frozen=True, kw_only=True)
class UpdateNoise(Study):
    """The mean squared noise of an update of gradient descent at initialization, over that with the smallest batch.

    Step M is a batch of M examples drawn with replacement, for which the rate is multiplied by (M / M0)^(1/2), M / M0
    or 1. `noise` is the variance of the gradient over independent batches, summed over the weights, times the square of
    that factor; `relative` is noise(M) / noise(M0).

    Derived: a batch gradient is a mean of M independent gradients of one example, so that its variance is s^2 / M and
    the update's rate^2 s^2 / M, which does not depend on M for a rate of sqrt(M). Examples that batch norm joins are
    not independent; chunks of a fixed size are. No remainder: only how often it was drawn limits the ratio.

    Args:
        batches: M, the smallest first; the law speaks of the others.
        scaling: of the rate: `root`, `linear` or `none`.
        draws: batches to draw, for each M.

    Source: Hoffer, Hubara & Soudry 2017, arXiv:1705.08741; derived above.
    """

    batches: Sequence[int] = (32, 256, 2048)
    scaling: str = "root"
    draws: int = 24

    def measure(self, context: StudyContext) -> Outcome:
        first = self.batches[0]
        if list(self.batches) != sorted(set(self.batches)):
            raise UserError(f"study.batches={list(self.batches)}: must grow from the first to the last")
        components = context.components
        noises = {size: self._noise(components, size) for size in self.batches}
        rows = []
        for size in self.batches:
            rate = (size / first) ** POWERS[self.scaling]
            noise = rate**2 * noises[size]
            relative = noise / noises[first] if noises[first] else math.nan  # of examples that are all the same
            rows.append({"step": size, "rate": rate, "noise": noise, "relative": relative,
                         "formula": math.nan if size == first else 1.0})  # fmt: skip
        return Outcome(rows)

    def _noise(self, components: Components, size: int) -> float:
        source = generator(components.seed, "update noise", size)
        return float(variance(self._gradient(components, size, source) for _ in range(self.draws)).sum())

    def _gradient(self, components: Components, size: int, source: torch.Generator) -> Tensor:
        examples = components.batches.examples
        x, y = examples.take(torch.randint(len(examples), (size,), generator=source).to(examples.y.device))
        components.model.train()
        parameters = [each for each in components.model.parameters() if each.requires_grad]
        gradients = torch.autograd.grad(components.task.loss(components.model(x), y), parameters)
        return torch.cat([each.flatten() for each in gradients])


def variance(vectors: Iterable[Tensor]) -> Tensor:
    """Return the variance of each entry in float64, with one vector in memory at a time.

    The steps are those of `torch.var` over rows (Welford 1962), so that on a CPU it has the same bits.

    Shape: two or more of (P,) -> (P,).
    """
    count, mean, squares = 0, torch.zeros(()), torch.zeros(())
    for count, vector in enumerate(map(Tensor.double, vectors), 1):
        before = vector - mean
        mean = mean + before / count
        squares = squares + before * (vector - mean)
    return squares / (count - 1)
