"""Two domains, one law: the simulation that motivates normalization."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from normexp.data.base import Array, Data, Dataset, Split, empty_like


@dataclass(frozen=True, kw_only=True)
class CovariateShift(Dataset):
    """P(Y|X) is one, P(X) differs: training and validation are from domain A, the test from domain B.

    Shapes: x float32 (examples, dimension), y float32 (examples, 1). With u the unit vector along (1, ..., 1)
    the centres lie at -shift/2 u and +shift/2 u. Every coordinate of x is uniform in a box of side `width`
    around its domain's centre, and y = sin(u.x + 1) + noise * N(0, 1). The phase of 1 makes the law neither
    odd nor even: it rises in domain A and falls in B, so what is learned in one does not carry over.

    Args:
        dimension: number of inputs.
        shift: distance between the domains' centres; 0 makes them equal.
        width: side of each domain's box.
        noise: standard deviation of the noise on y.
        examples: number of examples in each domain, before `validation` are held out from A.

    Source: Arpit, "Normalization Techniques" (slides), Motivation 1: "Design: P(X) is different but P(Y|X) is
    identical". The slides print no formula; law and boxes are ours.
    """

    dimension: int = 1
    shift: float = 3.0
    width: float = 2.0
    noise: float = 0.1
    examples: int = 1000
    validation: int = 200

    def read(self, seed: int) -> Data:
        rng = np.random.default_rng([seed, crc32(b"covariate_shift")])
        a, b = (self._domain(rng, centre) for centre in (-self.shift / 2, self.shift / 2))
        return Data(a, empty_like(a), b, task="regression")

    def _domain(self, rng: np.random.Generator, centre: float) -> Split:
        u = _direction(self.dimension)
        x = centre * u + self.width * rng.uniform(-0.5, 0.5, (self.examples, self.dimension))
        y = law(x) + self.noise * rng.standard_normal((self.examples, 1))
        return Split(x.astype(np.float32), y.astype(np.float32))


def law(x: Array) -> Array:
    """Return E[Y|X], float (N, 1), of inputs (N, D)."""
    return np.sin(x @ _direction(x.shape[1])[:, None] + 1)


def _direction(dimension: int) -> Array:
    return np.full(dimension, dimension**-0.5)
