"""How long weights are."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from normexp.probes.base import Probe, Reading, Situation, evaluation_mode
from normexp.probes.layers import Weight, free_weights, weights


@dataclass(frozen=True, kw_only=True)
class WeightNorms(Probe):
    """Euclidean norm of every Linear and Conv weight (`norm`), and the mean of its units' norms (`unit_norm`).

    `PATH.weight` is the weight that the layer multiplies by. Where a scheme computes it from another one,
    `PATH.parametrizations.weight.original` (`original1`, v, under weight normalization) follows.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 2: the norm of v grows in training.
    """

    def measure(self, situation: Situation) -> list[Reading]:
        with evaluation_mode(situation.model):  # a parametrization may have a state that training mode moves
            found = {**weights(situation.model), **free_weights(situation.model)}
        return [reading for name, weight in sorted(found.items()) for reading in norms(name, weight)]


def norms(name: str, weight: Weight) -> list[Reading]:
    lengths = torch.linalg.vector_norm(weight.units, dim=1)
    return [(name, "norm", float(lengths.norm())), (name, "unit_norm", float(lengths.mean()))]
