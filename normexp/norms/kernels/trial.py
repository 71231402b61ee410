"""A forward pass that leaves no trace, for what looks at data before training begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def left_as_found(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Undo, at the end, what a forward pass leaves behind: buffers, training modes, the random generators."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    modes = [(module, module.training) for module in model.modules()]
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            for buffer, saved in buffers:
                buffer.copy_(saved)
            for module, mode in modes:
                module.training = mode


@torch.no_grad()
def forward_with(hooks: Mapping[nn.Module, Callable[..., Any]], model: nn.Module, batch: Tensor) -> None:
    """Pass a batch through a model as in training, with dropout and noise, each layer's forward hook in place."""
    with ExitStack() as stack:
        stack.enter_context(left_as_found(model, batch.device))
        for layer, hook in hooks.items():
            stack.callback(layer.register_forward_hook(hook).remove)
        model.train()
        model(batch)
