"""Weights that torch's weight_norm and spectral_norm compute: a scheme that a network has already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils.spectral_norm import SpectralNorm, remove_spectral_norm
from torch.nn.utils.weight_norm import WeightNorm, remove_weight_norm

from normexp.norms.networks.dataflow import copied

NAMES = {
    parametrizations._WeightNorm: "weight_norm",
    parametrizations._SpectralNorm: "spectral_norm",
    WeightNorm: "weight_norm",  # torch's older ones are hooks
    SpectralNorm: "spectral_norm",
}
HOOKS = {WeightNorm: remove_weight_norm, SpectralNorm: remove_spectral_norm}


def computed(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield the name of a tensor and what computes it: a module, or the hook of an older function of torch."""
    if parametrize.is_parametrized(module):
        for name, steps in module.parametrizations.items():  # type: ignore[union-attr, operator]
            yield from ((name, step) for step in steps)
    hooks: list[Any] = [hook for hook in module._forward_pre_hooks.values() if type(hook) in HOOKS]
    yield from ((hook.name, hook) for hook in hooks)


def schemes_of_torch(module: nn.Module) -> list[tuple[str, str]]:
    """Return (tensor, scheme) of all tensors of a module that weight_norm or spectral_norm takes part in."""
    return [(name, NAMES[type(step)]) for name, step in computed(module) if type(step) in NAMES]


def is_normalized_by_torch(layer: nn.Module) -> bool:
    """Tell whether the weight of a layer goes through weight_norm or spectral_norm of torch, and nothing else does."""
    return [name for name, _ in computed(layer)] == [name for name, _ in schemes_of_torch(layer)] == ["weight"]


def own_class(shared: type) -> type:
    """Return a class like the one of a parametrized module: a deep copy shares that, and what is removed from it."""
    return type(shared.__name__, shared.__bases__, dict(vars(shared)))


@torch.no_grad()
def set_free(layer: Any) -> Any:
    """Give a layer, in place, the weight that torch computes for it in evaluation; return it."""
    learns = any(value.requires_grad for name, value in layer.named_parameters() if name != "bias")
    hook = next((each for each in layer._forward_pre_hooks.values() if type(each) in HOOKS), None)
    if hook is not None:
        HOOKS[type(hook)](layer, "weight")
    else:
        layer.__class__ = own_class(type(layer))
        layer.parametrizations.eval()  # the power iteration of spectral_norm goes on in training
        parametrize.remove_parametrizations(layer, "weight")
    layer.weight = nn.Parameter(layer.weight.detach().clone(), learns)
    return layer


def freed(layer: nn.Module) -> Any:
    """Return a copy of such a layer with its weight set free; any other layer as it is."""
    return set_free(copied(layer, layer)) if is_normalized_by_torch(layer) else layer
