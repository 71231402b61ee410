"""Which keys attention can select, and whether a query can attend to all of them equally: layer norm's two parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linprog

from normexp.norms.base import Norm
from normexp.seeding import generator
from normexp.studies.arithmetic.numbers import Array
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.build import build_norm


@dataclass(frozen=True, kw_only=True)
class SelectableKeys(Study):
    """Random Gaussian keys behind the configuration's norm, or without their scaling or their projection.

    A key is unselectable where no query gives it the largest score, that is, where it lies in the convex hull of the
    others: one linear program a key. `unselectable` is their share. `unequal` is the largest distance of an attention
    weight from 1 / keys under the query of all ones times `pull`: with the projection, which takes the mean of every
    key, all scores are 0.

    Derived: keys of one length lie on a sphere, and a point of a sphere is in no convex hull of others: k itself
    selects k. The projection makes 1'k = 0 for every k.

    Args:
        dimension: of the keys.
        keys: how many.
        projected: whether the mean of each key is taken off.
        scaled: whether each key is brought to one length.
        pull: length of the all-ones query over its own sqrt(dimension).

    Source: Brody, Alon & Yahav 2023, arXiv:2305.02582 [set-up from the authors' code,
    tech-srl/layer_norm_expressivity_role; their version without projection divides by sqrt(d)].
    """

    dimension: int = 8
    keys: int = 100
    projected: bool = True
    scaled: bool = True
    pull: float = 10.0

    def measure(self, context: StudyContext) -> Outcome:
        source = generator(context.seed, "keys")
        keys = torch.randn(self.keys, self.dimension, dtype=torch.double, generator=source)
        keys = self._normalized(build_norm(context.config), keys)
        scores = self.pull * keys.sum(1)
        unequal = float((scores.softmax(0) - 1 / self.keys).abs().max())
        found = keys.numpy()
        hidden = [in_hull_of_others(found, i) for i in range(self.keys)]
        row = {"unselectable": float(np.mean(hidden)), "none": 0.0, "unequal": unequal}
        return Outcome([{"step": self.keys, **row}])

    def _normalized(self, norm: Norm, keys: torch.Tensor) -> torch.Tensor:
        if self.projected and self.scaled:
            out: torch.Tensor = norm.normalization(self.dimension).double()(keys).detach()
            return out
        keys = keys - keys.mean(1, keepdim=True) if self.projected else keys
        return keys / keys.square().mean(1, keepdim=True).sqrt() if self.scaled else keys


def in_hull_of_others(points: Array, i: int) -> bool:
    """Tell whether point i is a convex combination of the others: a feasible linear program."""
    others = np.delete(points, i, axis=0)
    equations = np.vstack([others.T, np.ones(len(others))])
    found = linprog(np.zeros(len(others)), A_eq=equations, b_eq=np.append(points[i], 1.0), method="highs")
    return bool(found.status == 0)
