"""Layers that a network calls and has not registered: in a list, a dict, a closure, made while it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from normexp.diagnosis.finding import Finding
from normexp.diagnosis.normalizations import OF_TORCH
from normexp.norms.kernels.modules import unregistered
from normexp.norms.kernels.trial import hooked, own_buffers, state_kept

NOT_REGISTERED = (
    "is called, but is no module of the network: train(), eval(), to(), parameters() and state_dict() leave it out, "
    "and so does this; nn.ModuleList or nn.ModuleDict makes it one"
)


@contextmanager
def called_layers() -> Iterator[Iterable[nn.Module]]:
    """Yield what will hold every layer that is called, whatever it belongs to, in the order of first calls.

    Layers are what normalizes, or has parameters or buffers of its own: an activation has nothing to be left out.
    At the end they get their buffers back.
    """
    found: dict[nn.Module, Callable[[], None]] = {}

    def note(module: nn.Module, _: Any) -> None:
        state = (*module._parameters.values(), *module._buffers.values())
        if module not in found and (isinstance(module, OF_TORCH) or any(value is not None for value in state)):
            found[module] = own_buffers(module)

    try:
        with hooked([register_module_forward_pre_hook(note)]):
            yield found
    finally:
        for put_back in found.values():
            put_back()


@contextmanager
def all_kept(layers: Iterable[nn.Module]) -> Iterator[None]:
    """Put modes and buffers of layers back at the end, as `state_kept` does those of one network."""
    with ExitStack() as stack:
        for layer in layers:
            stack.enter_context(state_kept(layer))
        yield


def strangers(model: nn.Module, called: Iterable[nn.Module]) -> dict[nn.Module, str]:
    """Return those layers that are no modules of the network: in which attribute each is kept, or its type."""
    own, paths = set(model.modules()), {module: path for path, module in model.named_modules()}
    places = {
        part: f"{paths[owner]}.{attribute}".removeprefix(".")
        for owner, attribute, kept in unregistered(model)
        for part in kept.modules()
    }
    return {each: places.get(each, type(each).__name__) for each in called if each not in own}


def of_strangers(found: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for every place of such layers."""
    yield from (Finding("not registered", place, NOT_REGISTERED) for place in dict.fromkeys(found))
