"""Full-batch gradient descent on a squared error: e <- (I - rate C) e, with e = W - W* and C = E[x x^T]."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from normexp.studies.arithmetic.numbers import Array

LONG = 2**20  # steps after which a rate that is too large by one part in a million has grown beyond doubt
SLACK = 1e-6  # of an error of 1, for the rounding of so many steps
PRECISION = 1e-7  # relative, of a rate found by bisection
LONGEST = 40  # powers of two: no more than 2^40 steps are looked at


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The squared error (1/2) E ||y - W x||^2 seen from its minimum W*.

    Args:
        hessian: C = E[x x^T], (D, D).
        values: its eigenvalues that are not 0, the largest first, (K,).
        vectors: their eigenvectors, (D, K).
    """

    hessian: Array
    values: Array
    vectors: Array

    @classmethod
    def of(cls, x: Array) -> Quadratic:
        """Return the squared error of inputs x, (N, D). Eigenvalues that the rounding of float32 makes count as 0."""
        hessian = x.T @ x / len(x)
        values, vectors = np.linalg.eigh(hessian)
        known = values > (x.shape[1] * np.finfo(np.float32).eps) ** 2 * values[-1]
        return cls(hessian, values[known][::-1], vectors[:, known][:, ::-1])

    @property
    def condition(self) -> float:
        return float(self.values[0] / self.values[-1])

    def largest_stable(self) -> float:
        """Return by bisection the largest rate with which no error has grown after very many steps."""
        return self._largest(lambda rate: bool((np.abs(Descent(self, rate).errors(LONG)) <= 1 + SLACK).all()))

    def largest_smooth(self) -> float:
        """Return by bisection the largest rate with which no error changes its sign in a step."""
        return self._largest(lambda rate: bool((Descent(self, rate).errors(1) >= 0).all()))

    def _largest(self, works: Callable[[float], bool]) -> float:
        surely = 1 / float(np.trace(self.hessian))  # no eigenvalue is larger than the trace
        return largest_rate(works, surely, PRECISION)


def largest_rate(works: Callable[[float], bool], low: float, precision: float) -> float:
    """Return by bisection the largest rate that works.

    Args:
        low: where the search begins.
        precision: relative, of the rate.
    """
    while not works(low):
        low /= 2
    high = 2 * low
    while works(high):
        low, high = high, 2 * high
    while high - low > precision * low:
        middle = (low + high) / 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low


def bisected(works: Callable[[float], bool], low: float, high: float, times: int) -> float:
    """Return by bisection of its logarithm the largest rate between `low` and `high` that works."""
    for _ in range(times):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if works(middle) else (low, middle)
    return low


def first_step(powers: Sequence[Array], start: Array, is_far: Callable[[Array], bool]) -> int:
    """Return the first step of a linear map, of those behind `start`, at which nothing is far any more.

    Args:
        powers: the effect of 1, 2, 4, ... steps, twice the last of which are looked at.
        is_far: tells whether a place on the way is far yet; once it is not, no later one is.
    """
    here, steps = start, 0
    for doublings, power in reversed(list(enumerate(powers))):
        if is_far(later := power @ here):
            here, steps = later, steps + 2**doublings
    return steps + 1


@dataclass(frozen=True, eq=False)
class Descent:
    """Gradient descent with one rate, from a start at distance 1 from the minimum along every eigenvector."""

    loss: Quadratic
    rate: float

    def errors(self, steps: int) -> Array:
        """Return what is left of the error along every eigenvector after so many steps, (K,), with its sign."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.loss.vectors.T @ self._at(steps)

    def steps_to(self, share: float) -> npt.NDArray[np.int64]:
        """Return per eigenvector the first step at which its error is at most a share of the start, (K,)."""
        return np.array([self._first(vector, share) for vector in self.loss.vectors.T])

    def path_length(self, steps: npt.NDArray[np.int64]) -> float:
        """Return how long the polygon through the points at these steps is, as a multiple of the straight way."""
        points = np.array([self._at(int(step)) for step in steps])
        way = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        return float(way / np.linalg.norm(points[-1] - points[0]))

    @cached_property
    def _powers(self) -> list[Array]:
        """The effect of 1, 2, 4, ... steps."""
        powers = [np.eye(len(self.loss.hessian)) - self.rate * self.loss.hessian]
        with np.errstate(over="ignore", invalid="ignore"):  # of a rate that is too large
            for _ in range(LONGEST):
                powers.append(powers[-1] @ powers[-1])
        return powers

    def _at(self, steps: int) -> Array:
        error = self.loss.vectors.sum(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(steps.bit_length()):
                if steps >> k & 1:
                    error = self._powers[k] @ error
        return error

    def _first(self, vector: Array, share: float) -> int:
        start = self.loss.vectors.sum(axis=1)
        return first_step(self._powers, start, lambda error: bool(abs(vector @ error) > share))
