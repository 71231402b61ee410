"""Time of forward and backward, relative to a convolution and to batch normalization of the same shape."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import nn

from normexp.norms.base import Norm
from normexp.norms.checks.subject import reproducible

Shape = tuple[int, int, int, int]
SMALL: Shape = (32, 64, 16, 16)
FULL: Shape = (128, 96, 32, 32)
REPEATS = 15


@dataclass(frozen=True)
class Ratio:
    """Median of a ratio over interleaved repeats, with its quartiles."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Cost:
    """Forward and backward of a scheme on (N, C, H, W), relative to a 3 x 3 convolution and to batch norm."""

    shape: Shape
    threads: int
    of_convolution: Ratio
    of_batch_norm: Ratio


def cost(norm: Norm, shape: Shape = SMALL, repeats: int = REPEATS) -> Cost:
    """Time the scheme's parts beside nn.Conv2d(C, C, 3) and nn.BatchNorm2d(C), float32, channels last.

    A scheme's time is that of its activation module, of computing its weights (and their gradient) once, and
    of what its nonlinearity takes beyond a ReLU. Repeats go round all of them, so that a busy machine slows
    all alike; ratios are taken within one round.
    """
    with reproducible():
        parts, minus, convolution, batch_norm = tasks(norm, Maps(shape))
    rounds = [[seconds(task) for task in (*parts, *minus, convolution, batch_norm)] for _ in range(repeats + 2)]
    spent = [sum(r[: len(parts)]) - sum(r[len(parts) : -2]) for r in rounds[2:]]  # two rounds to warm up
    return Cost(
        shape,
        torch.get_num_threads(),
        ratio([time / r[-2] for time, r in zip(spent, rounds[2:], strict=True)]),
        ratio([time / r[-1] for time, r in zip(spent, rounds[2:], strict=True)]),
    )


Task = Callable[[], object]


@dataclass(frozen=True)
class Maps:
    """Feature maps (N, C, H, W), tokens (N, T, C) or vectors (N, C), their precision, and their order in memory."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    memory: torch.memory_format = torch.channels_last

    def random(self, mean: float = 0.0) -> torch.Tensor:
        """Return normal values of deviation 1 and this mean."""
        return (torch.randn(self.shape) + mean).to(self.dtype).contiguous(memory_format=self.memory)


def tasks(
    norm: Norm, maps: Maps, form: Callable[[nn.Module], nn.Module] = lambda module: module
) -> tuple[list[Task], list[Task], Task, Task]:
    """Return what the scheme adds, what it replaces, the convolution (on vectors a Linear), and batch normalization.

    Args:
        form: what becomes of the scheme's modules before they are timed.
    """
    channels = maps.shape[1]
    relu = nn.ReLU()
    activation, nonlinearity = norm.normalization(channels), norm.nonlinearity(relu)
    flat = len(maps.shape) == 2
    layer = norm.parametrize(nn.Linear(channels, channels) if flat else nn.Conv2d(channels, channels, 3, padding=1))
    parts = [] if isinstance(activation, nn.Identity) else [on_maps(form(activation), maps)]
    parts += [of_weight(form(layer))] if hasattr(layer, "parametrizations") else []
    replaced = nonlinearity is not relu
    parts += [on_maps(nonlinearity, maps)] if replaced else []
    minus = [on_maps(relu, maps)] if replaced else []
    wide = nn.Linear(channels, channels) if flat else nn.Conv2d(channels, channels, 3, padding=1, bias=False)
    batch_norm = nn.BatchNorm1d(channels) if flat else nn.BatchNorm2d(channels)
    return parts, minus, on_maps(wide, maps), on_maps(batch_norm, maps)


def on_maps(module: nn.Module, maps: Maps, mean: float = 0.0) -> Task:
    """Return one forward and backward of the module, in training mode; parameters stay in float32, as in a run.

    Args:
        mean: of the input, in its deviations.
    """
    module = module.to(memory_format=maps.memory)
    x, cotangent = maps.random(mean).requires_grad_(), maps.random()
    wanted = [x, *module.parameters()]
    half = maps.dtype == torch.bfloat16

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            y = module(x)
        torch.autograd.grad(y, wanted, cotangent.to(y.dtype))

    return run


def of_weight(layer: nn.Module) -> Task:
    """Return one computation of a layer's weight from its free parameters, and back."""
    weight = layer.weight
    assert isinstance(weight, torch.Tensor)
    cotangent = torch.randn_like(weight)
    wanted = [parameter for name, parameter in layer.named_parameters() if name.startswith("parametrizations")]

    def run() -> None:
        torch.autograd.grad(layer.weight, wanted, cotangent)  # type: ignore[arg-type]

    return run


def seconds(task: Task, clock: Callable[[], float] = perf_counter) -> float:
    start = clock()
    task()
    return clock() - start


def ratio(values: list[float]) -> Ratio:
    low, median, high = statistics.quantiles(values, n=4)
    return Ratio(median, low, high)
