"""A scale and a shift per channel taken into the weight and bias of the layer before them, or behind."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import output_dim
from normexp.norms.networks.torch_weights import own_class


def absorb(layer: Any, scale: Tensor, shift: Tensor) -> None:
    """Make `scale * layer(x) + shift` of the layer, in place."""
    dim = output_dim(layer)
    if parametrize.is_parametrized(layer, "weight"):
        layer.__class__ = own_class(type(layer))
        parametrize.remove_parametrizations(layer, "weight")
    weight, learned = layer.weight, layer.weight.requires_grad
    shape = [-1 if each == dim else 1 for each in range(weight.dim())]
    bias = shift if layer.bias is None else layer.bias.double() * scale + shift
    layer.weight = nn.Parameter((weight.double() * scale.view(shape)).to(weight.dtype), learned)
    layer.bias = nn.Parameter(bias.to(weight.dtype), learned if layer.bias is None else layer.bias.requires_grad)


def absorb_behind(layer: Any, scale: Tensor, shift: Tensor) -> None:
    """Make `layer(scale * x + shift)` of the Linear layer, in place."""
    dtype, learned = layer.weight.dtype, layer.weight.requires_grad
    absorb(layer, torch.ones_like(layer.weight[:, 0]).double(), layer.weight.double() @ shift)
    layer.weight = nn.Parameter((layer.weight.double() * scale).to(dtype), learned)
