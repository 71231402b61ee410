"""Forward passes that leave no trace, for what looks at a network before or while it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


@contextmanager
def modes_kept(model: nn.Module) -> Iterator[None]:
    """Put every module back, at the end, into training or evaluation mode, as it was."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def state_kept(model: nn.Module) -> Iterator[None]:
    """Put modes and buffers back at the end."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    with modes_kept(model):
        try:
            yield
        finally:
            for buffer, saved in buffers:
                buffer.copy_(saved)


@contextmanager
def left_as_found(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Undo, at the end, what a forward pass leaves behind: buffers, training modes, the random generators."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []), state_kept(model):
        yield


@contextmanager
def hooked(hooks: Iterable[RemovableHandle]) -> Iterator[None]:
    """Remove hooks at the end."""
    handles = list(hooks)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def watched(modules: Mapping[str, nn.Module], look: Callable[[str, Tensor], object]) -> Iterator[None]:
    """Call `look` with the name and the input of every module whenever it is called."""

    def hook(name: str) -> Callable[..., None]:
        def entering(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
            x = next(iter([*arguments, *named.values()]), None)
            if isinstance(x, Tensor):
                look(name, x)

        return entering

    with hooked(each.register_forward_pre_hook(hook(name), with_kwargs=True) for name, each in modules.items()):
        yield


@torch.no_grad()
def forward_with(hooks: Mapping[nn.Module, Callable[..., Any]], model: nn.Module, batch: Tensor) -> None:
    """Pass a batch through a model as in training, with dropout and noise, each layer's forward hook in place."""
    handles = (layer.register_forward_hook(hook) for layer, hook in hooks.items())
    with left_as_found(model, batch.device), hooked(handles):
        model.train()
        model(batch)
