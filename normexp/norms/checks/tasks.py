"""What of a scheme is timed: forward and backward of its parts, and of the layers that they are set beside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import nn

from normexp.norms.base import Norm

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
