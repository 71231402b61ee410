"""Forward passes that leave no trace, for what looks at a network before or while it trains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from normexp.norms.networks.own_state import own_buffers, own_state
from normexp.seeding import random_kept


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
def buffers_kept(model: nn.Module, others: Collection[nn.Module]) -> Iterator[None]:
    """Put modes and buffers back at the end, for passes whose hooks set parameters; not the buffers of `others`."""
    kept = [own_buffers(module) for module in model.modules() if module not in others]
    with modes_kept(model):
        try:
            yield
        finally:
            for put_back in kept:
                put_back()


@contextmanager
def state_kept(model: nn.Module) -> Iterator[None]:
    """Put every module back, at the end, to what it was: its mode, parameters, buffers and other attributes."""
    kept = [own_state(module) for module in model.modules()]
    try:
        yield
    finally:
        for put_back in kept:
            put_back()


@contextmanager
def left_as_found(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Undo, at the end, what a forward pass leaves behind, in the modules and in the random generators."""
    with random_kept(devices(device)), state_kept(model):
        yield


def devices(device: torch.device) -> list[torch.device]:
    """Return those with a random generator beside the CPU's."""
    return [device] if device.type == "cuda" else []


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
def set_in_turn(layers: Iterable[nn.Module], hook: Callable[..., Any], model: nn.Module, batch: Tensor) -> None:
    """Pass a batch through a model as in training, with dropout and noise, a forward hook at each layer's first call.

    Hooks run in call order, so each layer sees the outputs of layers that are done. A layer that is called again, as in
    a recurrent network, is left as its first call set it. What a layer keeps of the weight that is set (spectral
    normalization, its singular vector) stays with it; other buffers are put back.
    """
    layers, done = list(layers), set[nn.Module]()
    parts = {part for layer in layers for part in layer.modules()}

    def once(layer: nn.Module, inputs: Any, output: Any) -> Any:
        if layer in done:
            return None
        done.add(layer)
        return hook(layer, inputs, output)

    hooks = (layer.register_forward_hook(once) for layer in layers)
    with random_kept(devices(batch.device)), buffers_kept(model, parts), hooked(hooks):
        model.train()
        model(batch)
