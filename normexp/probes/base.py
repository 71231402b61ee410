"""The contract of a probe. The base class measures nothing and is itself `probe=none`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Reading = tuple[str, str, float]  # (layer, statistic, value)


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Measures nothing."""

    def measure(self, model: nn.Module, x: Tensor) -> list[Reading]:
        """Return readings on the network as it is now.

        Args:
            x: fixed examples, (N, C, H, W) or (N, D), the same at every evaluation.
        """
        return []

    @property
    def examples(self) -> int:
        """How many examples `measure` wants; 0 for none."""
        return 0


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Switch to evaluation mode without gradients, and back: a measurement must not change the run."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


def inputs_of(model: nn.Module, modules: Mapping[str, nn.Module], x: Tensor) -> dict[str, Tensor]:
    """Return what enters each named module when x passes through the network in evaluation mode."""
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, arguments: tuple[Any, ...]) -> None:
            seen.setdefault(name, arguments[0].detach())

        return hook

    hooks = [module.register_forward_pre_hook(keep(name)) for name, module in modules.items()]
    try:
        with evaluation_mode(model):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return seen
