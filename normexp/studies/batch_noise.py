"""The noise that the chance of the batch puts on an example, and how near it is to a normal distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from normexp.norms.checks.subject import without_eps
from normexp.seeding import generator
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.training.build import build_norm

UNITS = 4096  # side by side, each with a batch of its own


def normal(shape: tuple[int, ...], source: Generator) -> Tensor:
    return torch.randn(shape, dtype=torch.double, generator=source)


def exponential(shape: tuple[int, ...], source: Generator) -> Tensor:
    return torch.empty(shape, dtype=torch.double).exponential_(generator=source) - 1


def laplace(shape: tuple[int, ...], source: Generator) -> Tensor:
    two = torch.empty((2, *shape), dtype=torch.double).exponential_(generator=source)
    return (two[0] - two[1]) / math.sqrt(2)


VALUES: dict[str, Callable[[tuple[int, ...], Generator], Tensor]] = {
    "normal": normal,
    "exponential": exponential,
    "laplace": laplace,
}
"""What a unit's values are drawn from: of mean 0 and deviation 1."""


@dataclass(frozen=True, kw_only=True)
class BatchNoise(Study):
    """What becomes of one value, `value`, in batches whose other values are drawn anew, in training mode.

    Per batch size, which is the step of the curves: `deviation`, `skewness` and `excess_kurtosis` (0 for a normal
    distribution) of the output over the draws, and `beyond`, the share of them more than four deviations from their
    mean (0.000063 of a normal distribution). Values have mean 0 and deviation 1, and so have the outputs of batch and
    of mean-only batch normalization over all examples, so that both deviations are in the same unit. In float64, all
    but without eps. NaN where there is no noise.

    With m values in the batch the mean of m - 1 others moves by sqrt(m - 1) / m, and its excess kurtosis is that of a
    single value over m - 1: what mean-only batch normalization does to `value`. Batch normalization divides by the
    batch's deviation, too.

    Args:
        values: the distribution of the batch's other values.
        value: what is looked at, in deviations.
        sizes: batch sizes, increasing.
        rounds: draws of 4,096 batches each.

    Source: Normalization (page of machine learning notes), section on weight normalization, the second advantage. The
    measure is ours.
    """

    values: str = "normal"
    value: float = 1.0
    sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128)
    rounds: int = 25

    def measure(self, context: StudyContext) -> Outcome:
        module = without_eps(build_norm(context.config)).normalization(UNITS).double().train()
        return Outcome([self._row(module, size, context.seed) for size in self.sizes])

    @torch.no_grad()
    def _row(self, module: nn.Module, size: int, seed: int) -> Row:
        source = generator(seed, f"batches of {size}")
        noise = torch.cat([module(self._batch(size, source))[0] for _ in range(self.rounds)])
        return {"step": size, **moments(noise)}

    def _batch(self, size: int, source: Generator) -> Tensor:
        batch = VALUES[self.values]((size, UNITS), source)
        batch[0] = self.value
        return batch


def moments(noise: Tensor) -> dict[str, float]:
    """Return deviation, skewness, excess kurtosis and the share beyond four deviations of numbers in float64."""
    centred = noise - noise.mean()
    deviation = centred.square().mean().sqrt()
    z = centred / deviation
    return {
        "deviation": float(deviation),
        "skewness": float(z.pow(3).mean()),
        "excess_kurtosis": float(z.pow(4).mean()) - 3,
        "beyond": float((z.abs() > 4).double().mean()) if deviation > 0 else math.nan,
    }
