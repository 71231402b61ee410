"""Modules of a network replaced by a scheme's: what the old ones learned goes on where it is still true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from normexp.norms.base import num_outputs
from normexp.norms.kernels.batched import AnyRankBatchNorm

STARTS = {"weight": 1, "bias": 0}  # of torch's normalizations


@torch.no_grad()
def carry(old: nn.Module, new: nn.Module) -> None:
    """Keep scales and shifts, and running estimates where both are batch normalization: what they say stays true.

    Estimates that are averages over all batches (momentum=None) stay such: no momentum says the same. A scheme's own
    start (a weight of zeros) stays where the old normalization has learned nothing that would take its place.
    """
    both = are_batch_norms(old, new)
    state = dict(new.named_parameters()) | (dict(new.named_buffers()) if both else {})
    known = dict(old.named_parameters(recurse=False)) | dict(old.named_buffers(recurse=False))
    for name, value in state.items():
        if name in known and known[name].shape == value.shape and (both or _has_learned(name, known[name])):
            value.copy_(known[name])
            value.requires_grad_(known[name].requires_grad)
    if both and type(new) is AnyRankBatchNorm and old.momentum is None:
        new.momentum = None


def _has_learned(name: str, value: torch.Tensor) -> bool:
    """Tell whether a scale or a shift is another than at its start, or held there; a meta tensor has no value."""
    if name not in STARTS or value.is_meta:
        return name in STARTS
    return not (value.requires_grad and bool((value == STARTS[name]).all()))


def are_batch_norms(*modules: nn.Module) -> bool:
    return all(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in modules)


@torch.no_grad()
def drop_bias(layer: Any, old: Any, new: Any) -> None:
    """Drop the bias of a layer in front of a normalization that cancels it, and take it out of the running mean."""
    placed: Any = new[0] if isinstance(new, nn.Sequential) else new
    if are_batch_norms(old, placed) and old.running_mean is not None:
        placed.running_mean.sub_(layer.bias)
    layer.register_parameter("bias", None)


def swap(model: nn.Module, new: dict[nn.Module, nn.Module]) -> None:
    """Put `new[module]` in every place of `module`, also where one module has several places."""
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child in new:
                parent._modules[name] = new[child]


def add_biases(layers: Iterable[nn.Module]) -> None:
    """Give every layer a bias of zeros."""
    for layer in layers:
        weight = layer.weight
        assert isinstance(weight, torch.Tensor)
        layer.bias = nn.Parameter(weight.new_zeros(num_outputs(layer)))
