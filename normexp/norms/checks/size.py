"""How many numbers a scheme adds to a layer: learned ones and kept ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from normexp.norms.base import Norm, free_weight, weight_layers
from normexp.norms.checks.subject import INPUTS, UNITS

WIDTHS = (UNITS, 2 * UNITS, 3 * UNITS)


@dataclass(frozen=True)
class Count:
    """A number that grows with the width C of a layer: `square` C^2 + `slope` C + `constant`."""

    slope: float
    constant: float
    square: float = 0.0

    def __str__(self) -> str:
        terms = ((self.square, " C^2"), (self.slope, " C"), (self.constant, ""))
        said = " + ".join(f"{factor:g}{power}" for factor, power in terms if factor)
        return said.replace("+ -", "- ") or "0"


def added_parameters(norm: Norm) -> Count:
    """Count what a block of a Linear layer learns beyond the layer's own weight and bias."""
    return per_channel([own_parameters(block(norm, width)) for width in WIDTHS])


def buffers(norm: Norm) -> Count:
    """Count what a block of a Linear layer keeps without learning it, such as running estimates."""
    return per_channel([numel(block(norm, width).buffers()) for width in WIDTHS])


def block(norm: Norm, width: int) -> nn.Module:
    return norm.block(nn.Linear(INPUTS, width), nn.ReLU())


def own_parameters(module: nn.Module) -> int:
    (layer,) = weight_layers(module)
    plain = [free_weight(layer)[1], *([layer.bias] if isinstance(layer.bias, Tensor) else [])]
    return numel(module.parameters()) - numel(plain)


def numel(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def per_channel(counts: Sequence[int]) -> Count:
    """Return the parabola through the counts at the `WIDTHS`, a line where they grow with the width alone."""
    first, second, third = counts
    square = (third - 2 * second + first) / (2 * UNITS**2)
    slope = (second - first) / UNITS - 3 * UNITS * square
    return Count(slope, first - (slope + square * UNITS) * UNITS, square)
