"""Apply a scheme to a network that somebody else wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import torch
from torch import nn

from normexp.norms.base import Norm, num_outputs, weight_layers

NORMS = (nn.modules.batchnorm._NormBase, nn.GroupNorm)  # the first: batch and instance normalization
NONLINEARITIES = (nn.ReLU, nn.ReLU6, nn.SiLU, nn.Hardswish)
POOLS = (nn.MaxPool2d, nn.AvgPool2d)


def convert(model: nn.Module, norm: Norm, *, output: bool = False) -> nn.Module:
    """Turn `model` into a network normalized by `norm`, in place, and return it.

    Every batch, instance or group normalization becomes the scheme's activation module. A network without any
    gets one after every convolution (after every Linear layer, if it has no convolution). Every Linear and
    Conv weight goes through the scheme. Where the scheme leaves activations alone, layers without a bias get
    one (of zeros) in place of the bias that went with the old normalization.

    Args:
        model: for example a torchvision classification network.
        norm: the scheme; its `placement` must be `pre`.
        output: treat the last layer, the classifier, like the others.

    Raises:
        ValueError: for `placement=post`, and for networks with nn.LayerNorm, whose channels come last.
    """
    check(model, norm)
    hidden = weight_layers(model) if output else weight_layers(model)[:-1]
    replace(model, NONLINEARITIES, norm.nonlinearity)
    replace(model, POOLS, norm.pool)
    if any(isinstance(module, NORMS) for module in model.modules()):
        if isinstance(norm.normalization(1), nn.Identity):
            add_biases(weight_layers(model))
        elif norm.cancels_bias:
            drop_cancelled_biases(model)
        replace(model, NORMS, lambda old: norm.normalization(channels(old)).to(next(model.parameters())))
    else:
        insert(model, hidden, norm)
    swap(model, {layer: norm.parametrize(layer) for layer in hidden})
    return model


def check(model: nn.Module, norm: Norm) -> None:
    """Raise ValueError for what cannot be converted."""
    if norm.placement != "pre":
        raise ValueError(f"a ready-made network fixes its own order: placement={norm.placement} must be pre")
    kinds = sorted({type(module).__name__ for module in model.modules() if isinstance(module, nn.LayerNorm)})
    if kinds:
        raise ValueError(f"{type(model).__name__} cannot be converted: its {kinds[0]} has the channels last")


def replace(model: nn.Module, kinds: tuple[type, ...], new: Callable[[nn.Module], nn.Module]) -> None:
    """Put `new(old)` in the place of every module of these kinds."""
    swap(model, {module: new(module) for module in model.modules() if isinstance(module, kinds)})


def swap(model: nn.Module, new: dict[nn.Module, nn.Module]) -> None:
    """Put `new[module]` in every place of `module`, also where one module has several places."""
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child in new:
                parent._modules[name] = new[child]


def channels(norm: nn.Module) -> int:
    """Return C of a normalization layer."""
    width = norm.num_channels if isinstance(norm, nn.GroupNorm) else norm.num_features
    return int(width)  # type: ignore[arg-type]


def add_biases(layers: Iterable[nn.Module]) -> None:
    """Give every layer without a bias one of zeros."""
    for layer in layers:
        if layer.bias is None:
            weight = layer.weight
            assert isinstance(weight, torch.Tensor)
            layer.bias = nn.Parameter(weight.new_zeros(num_outputs(layer)))


def drop_cancelled_biases(model: nn.Module) -> None:
    """Drop the bias of a layer right before a normalization, where an nn.Sequential says so for certain."""
    for module in model.modules():
        if isinstance(module, nn.Sequential):
            for layer, after in pairwise(module):
                if isinstance(after, NORMS) and weight_layers(layer)[:1] == [layer]:
                    layer.register_parameter("bias", None)


def insert(model: nn.Module, hidden: list[nn.Module], norm: Norm) -> None:
    """Put the scheme's activation module behind every convolution, or without any, every Linear."""
    convolutions = [layer for layer in hidden if not isinstance(layer, nn.Linear)]
    new: dict[nn.Module, nn.Module] = {}
    for layer in convolutions or hidden:
        after = norm.normalization(num_outputs(layer)).to(next(layer.parameters()))
        if isinstance(after, nn.Identity):
            return
        if norm.cancels_bias:
            layer.register_parameter("bias", None)
        new[layer] = nn.Sequential(layer, after)
    swap(model, new)
