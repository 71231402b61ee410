"""Time of forward and backward, relative to a convolution and to batch normalization of the same shape."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

from normexp.norms.base import Norm
from normexp.norms.checks.subject import refuses_maps, reproducible
from normexp.norms.checks.tasks import Maps, seconds, tasks

Shape = tuple[int, ...]
SMALL: Shape = (32, 64, 16, 16)
FULL: Shape = (128, 96, 32, 32)
REPEATS = 15


@dataclass(frozen=True)
class Quartiles:
    """The middle one of some ratios, taken over interleaved repeats, and the first and the third."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quartiles:
        low, median, high = statistics.quantiles(values, n=4)
        return cls(median, low, high)

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Cost:
    """Forward and backward of a scheme on (N, C, H, W), relative to a 3 x 3 convolution and to batch norm.

    On (N, C), of a scheme that refuses maps, relative to a linear layer.
    """

    shape: Shape
    threads: int
    of_layer: Quartiles
    of_batch_norm: Quartiles


def cost(norm: Norm, shape: Shape) -> Cost:
    """Time the scheme's parts beside nn.Conv2d(C, C, 3) and nn.BatchNorm2d(C), float32, channels last.

    Of a scheme that refuses maps they see as many vectors, beside nn.Linear(C, C) and nn.BatchNorm1d(C).

    A scheme's time is that of its activation module, of computing its weights (and their gradient) once, and
    of what its nonlinearity takes beyond a ReLU. Repeats go round all of them, so that a busy machine slows
    all alike; ratios are taken within one round.
    """
    maps = Maps(shape)
    if refuses_maps(norm):
        count, channels, *positions = shape
        maps = Maps((count * prod(positions), channels), memory=torch.contiguous_format)
    with reproducible():
        parts, minus, layer, batch_norm = tasks(norm, maps)
    rounds = [[seconds(task) for task in (*parts, *minus, layer, batch_norm)] for _ in range(REPEATS + 2)]
    spent = [sum(r[: len(parts)]) - sum(r[len(parts) : -2]) for r in rounds[2:]]  # two rounds to warm up
    return Cost(
        maps.shape,
        torch.get_num_threads(),
        Quartiles.of([time / r[-2] for time, r in zip(spent, rounds[2:], strict=True)]),
        Quartiles.of([time / r[-1] for time, r in zip(spent, rounds[2:], strict=True)]),
    )
