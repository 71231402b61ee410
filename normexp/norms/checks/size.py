"""How many numbers a scheme adds to a layer: learned ones and kept ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor, nn

from normexp.norms.base import Norm, free_weight, weight_layers
from normexp.norms.checks.subject import INPUTS, UNITS


@dataclass(frozen=True)
class Count:
    """A number that grows with the width C of a layer: `slope` C + `constant`."""

    slope: float
    constant: float

    def __str__(self) -> str:
        terms = [f"{self.slope:g} C"] if self.slope else []
        terms += [f"{self.constant:g}"] if self.constant or not terms else []
        return " + ".join(terms)


def added_parameters(norm: Norm) -> Count:
    """Count what a block of a Linear layer learns beyond the layer's own weight and bias."""
    return per_channel(*(own_parameters(block(norm, width)) for width in (UNITS, 2 * UNITS)))


def buffers(norm: Norm) -> Count:
    """Count what a block of a Linear layer keeps without learning it, such as running estimates."""
    return per_channel(*(numel(block(norm, width).buffers()) for width in (UNITS, 2 * UNITS)))


def block(norm: Norm, width: int) -> nn.Module:
    return norm.block(nn.Linear(INPUTS, width), nn.ReLU())


def own_parameters(module: nn.Module) -> int:
    (layer,) = weight_layers(module)
    plain = [free_weight(layer)[1], *([layer.bias] if isinstance(layer.bias, Tensor) else [])]
    return numel(module.parameters()) - numel(plain)


def numel(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def per_channel(narrow: int, wide: int) -> Count:
    """Return the line through the counts at `UNITS` and at twice as many channels."""
    slope = (wide - narrow) / UNITS
    return Count(slope, narrow - slope * UNITS)
