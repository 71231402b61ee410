"""Layers that a network calls and has not registered: in a list, a dict, a closure, made while it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from normexp.diagnosis.finding import Finding
from normexp.diagnosis.normalizations import OF_TORCH
from normexp.errors import UserError
from normexp.norms.networks.own_state import own_state
from normexp.norms.networks.trial import hooked, state_kept
from normexp.norms.networks.unregistered import unregistered

NOT_REGISTERED = (
    "is called, but is no module of the network: train(), eval(), to(), parameters() and state_dict() leave it out, "
    "and so does this; nn.ModuleList or nn.ModuleDict makes it one"
)


@contextmanager
def called_strangers(model: nn.Module) -> Iterator[Iterable[nn.Module]]:
    """Yield what will hold every layer that is called and is no module of the network, in the order of first calls.

    Layers are what normalizes, or has parameters or buffers of its own: an activation has nothing to be left out.
    What another thread calls meanwhile is no part of this.
    At the end they are put back to what they were.

    Raises: UserError, in the call, for a layer that the network registers then.
    """
    own, found = set(model.modules()), dict[nn.Module, Callable[[], None]]()
    thread = get_ident()

    def note(module: nn.Module, _: Any) -> None:
        state = (*module._parameters.values(), *module._buffers.values())
        layer = isinstance(module, OF_TORCH) or any(value is not None for value in state)
        if get_ident() == thread and layer and module not in own and module not in found:
            _check_not_new(module, model)
            found[module] = own_state(module)

    try:
        with hooked([register_module_forward_pre_hook(note)]):
            yield found
    finally:
        for put_back in found.values():
            put_back()


def _check_not_new(module: nn.Module, model: nn.Module) -> None:
    """Raise UserError for a layer that the network has made and registered in this call, and so would in each."""
    if module in set(model.modules()):
        raise UserError(
            f"model: makes a {type(module).__name__} when it is called first; pass a batch through it before this"
        )


@contextmanager
def all_kept(layers: Iterable[nn.Module]) -> Iterator[None]:
    """Put layers back at the end to what they were, as `state_kept` does those of one network."""
    with ExitStack() as stack:
        for layer in layers:
            stack.enter_context(state_kept(layer))
        yield


def places_of(model: nn.Module, strangers: Iterable[nn.Module]) -> dict[nn.Module, str]:
    """Return in which attribute of the network each of these layers is kept, or its type."""
    paths = {module: path for path, module in model.named_modules()}
    places = {
        part: f"{paths[owner]}.{attribute}".removeprefix(".")
        for owner, attribute, kept in unregistered(model)
        for part in kept.modules()
    }
    return {each: places.get(each, type(each).__name__) for each in strangers}


def of_strangers(found: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for every place of such layers."""
    yield from (Finding("not registered", place, NOT_REGISTERED) for place in dict.fromkeys(found))
