"""The last layer of a network."""

from __future__ import annotations

from torch import nn

from normexp.norms.base import Norm


def output_layer(layer: nn.Module, norm: Norm, normalized: bool) -> nn.Module:
    """Return a layer that no activation follows: with the scheme on it, or as it is."""
    return norm.block(layer) if normalized else layer
