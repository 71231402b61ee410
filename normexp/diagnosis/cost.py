"""What each normalization costs of a forward pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.networks.trial import hooked, left_as_found

ROUNDS = 5


@torch.no_grad()
def seconds(model: nn.Module, modules: Mapping[str, nn.Module], x: Tensor) -> tuple[float, dict[str, float]]:
    """Return the seconds of a forward pass in eval(), and those inside each module, medians of a few passes."""
    spent: dict[str, list[float]] = {path: [] for path in modules}
    with left_as_found(model, x.device):
        model.eval()
        model(x)
        with hooked(hook for path, module in modules.items() for hook in _clock(module, spent[path], x.device)):
            passes = [_timed(model, x) for _ in range(ROUNDS)]
    calls = {path: len(times) // ROUNDS for path, times in spent.items()}
    return median(passes), {path: calls[path] * median(times) for path, times in spent.items() if times}


def _timed(model: nn.Module, x: Tensor) -> float:
    began = now(x.device)
    model(x)
    return now(x.device) - began


def _clock(module: nn.Module, times: list[float], device: torch.device) -> tuple[Any, Any]:
    began: list[float] = []

    def start(*_: Any) -> None:
        began.append(now(device))

    def stop(*_: Any) -> None:
        times.append(now(device) - began.pop())

    entering: Callable[..., None] = start
    return module.register_forward_pre_hook(entering), module.register_forward_hook(stop)


def now(device: torch.device) -> float:
    """Return the clock once the device has finished."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
