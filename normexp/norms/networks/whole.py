"""What is no network that can be read: none at all, compiled, quantized, or changed as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from torch import fx, nn

from normexp.errors import kind_of, never_awaited
from normexp.norms.networks.modules import HOOKS

QUANTIZED = re.compile(r"torch\.ao\..*\b(quantized|qat|fake_quantize|observer)\b")  # where torch has such modules
LAZY = "has lazy layers, which have no weights yet; pass a batch through it first"


def check_network(model: object, valued: bool = True) -> None:
    """Raise ValueError for what is no network, compiled or changed as a whole; where values are needed, without any."""
    if isinstance(model, type) and issubclass(model, nn.Module):
        name = model.__name__
        raise ValueError(f"model: the class {name} is no network; give one that it makes, {name}(...)")
    if not isinstance(model, nn.Module):
        raise ValueError(f"model: {kind_of(model)} is no network; give a torch.nn.Module")
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError("model: compiled by torch.jit, so it cannot be changed; give the network that it was made of")
    if isinstance(getattr(model, "_orig_mod", None), nn.Module):
        raise ValueError("model: compiled by torch.compile; give the network inside it, model._orig_mod")
    if type(model).__call__ is not nn.Module.__call__ and not isinstance(model, fx.GraphModule):
        raise ValueError(f"model: {type(model).__name__} has a __call__ of its own; what that does cannot be read")
    if quantized := next((each for each in model.named_modules() if QUANTIZED.match(type(each[1]).__module__)), None):
        name, module = quantized
        what = f"quantized or prepared for it ({name} is a {type(module).__module__}.{type(module).__name__})"
        raise ValueError(f"model: {what}; give the float network that it was made of, and quantize the result")
    if put := next((name for name in ("forward", "train", "eval") if name in vars(model)), None):
        raise ValueError(f"model: its {put}() was put on this one network; only what its class does is read")
    if model._forward_hooks or model._forward_pre_hooks:
        raise ValueError("model: has hooks, and what they do with its layers is not read; remove them first")
    if wrong := next(_coroutines(model), None):
        raise ValueError(f"model: {wrong}")
    if has_lazy_layers(model):
        raise ValueError(f"model: {LAZY}")
    if valued and any(value.is_meta for value in [*model.parameters(), *model.buffers()]):
        raise ValueError("model: on the meta device, where weights have no values; give it others first (to_empty)")


def _coroutines(model: nn.Module) -> Iterator[str]:
    """Yield what is wrong where a module's forward(), or a hook on it, is an `async def`."""
    for path, module in model.named_modules():
        forward = getattr(type(module), "forward", None)  # torch.jit's have none
        hooks = [hook for kind in HOOKS for hook in getattr(module, kind, {}).values()]
        if wrong := never_awaited(forward):
            yield f"{path}{', ' if path else ''}its forward() {wrong}"
        if wrong := next(filter(None, map(never_awaited, hooks)), ""):
            yield f"{path} has a hook that {wrong}"


def has_lazy_layers(model: nn.Module) -> bool:
    """Tell whether a layer waits for its first batch to know its shape."""
    return any(map(torch.nn.parameter.is_lazy, [*model.parameters(), *model.buffers()]))
