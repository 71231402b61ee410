"""A forward pass that leaves no trace, for what looks at data before training begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


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
