"""How far the examples in every layer's input are from being orthogonal, or from being one and the same."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.probes.base import Probe, Reading, Situation, inputs_of
from normexp.probes.layers import layers


@dataclass(frozen=True, kw_only=True)
class GramDistance(Probe):
    """Frobenius distance of H H' / ||H||^2 from I / n for the inputs H (n examples, all units) of every layer.

    0 where the examples are orthogonal and equally long, sqrt(1 - 1/n) where they all point the same way. In training
    mode: batch statistics are those of these examples.

    Args:
        count: n, the number of test examples, the same at every evaluation.

    Source: Daneshmand, Joudaki & Bach 2021, arXiv:2106.03970.
    """

    count: int = 32

    def measure(self, situation: Situation) -> list[Reading]:
        model, (x, _) = situation.model, situation.test(self.count)
        seen = inputs_of(model, layers(model), x, training=True)
        return [(name, "gram_distance", gram_distance(each.flatten(1).double())) for name, each in seen.items()]


def gram_distance(h: Tensor) -> float:
    """Return the Frobenius distance of H H' / ||H||^2 from I / n, H being (n examples, units)."""
    gram = h @ h.T / h.square().sum()
    return float((gram - torch.eye(len(h), dtype=h.dtype, device=h.device) / len(h)).norm())
