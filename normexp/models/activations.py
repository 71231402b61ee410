"""Activation functions by their name in a config."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "identity": nn.Identity,
}


def activation(name: str) -> nn.Module:
    """Return a new activation module."""
    return ACTIVATIONS[name]()
