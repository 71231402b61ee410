"""Linear regression in float64: its error, the curvature of the error, and descent one example at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from normexp.studies.arithmetic.descent import bisected, first_step
from normexp.studies.arithmetic.numbers import Array

SMALLEST, LARGEST = 1e-15, 1e15  # learning rates between which the largest stable one is looked for
BISECTIONS = 100  # more than float64 can tell apart
LONGEST = 2**50  # passes


@dataclass(frozen=True)
class Regression:
    """Predictions x @ theta of y, with mean squared error; an example's gradient is (x_i @ theta - y_i) x_i.

    Shapes: x (N, P), the last column ones where there is a bias; y (N,); theta (P,).
    Source: Ferreira 2024, lecture L12, section 2, the update rule.
    """

    x: Array
    y: Array

    @staticmethod
    def of(inputs: npt.ArrayLike, targets: npt.ArrayLike) -> Regression:
        """Make it from inputs (N, D) and targets (N, 1) or (N,), with a column of ones for the bias."""
        x, y = np.array(inputs, dtype=np.float64), np.array(targets, dtype=np.float64).reshape(-1)
        return Regression(np.column_stack([x, np.ones(len(x))]), y)

    @property
    def start(self) -> Array:
        return np.zeros(self.x.shape[1])

    def mse(self, theta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.mean((self.x @ theta - self.y) ** 2))

    @cached_property
    def curvatures(self) -> Array:
        """Eigenvalues of x.T @ x / N, the largest first: curvatures of half the mean squared error."""
        return np.linalg.svd(self.x, compute_uv=False) ** 2 / len(self.x)

    @property
    def condition_number(self) -> float:
        """The largest curvature over the smallest: 1 where the error's contours are circles."""
        return float(self.curvatures[0] / self.curvatures[-1])

    def one_by_one(self, rate: float, updates: int) -> Iterator[Array]:
        """Yield theta before the first update and after each, the examples in their order, from zero.

        Ends early with the first theta whose error is no finite number.
        """
        theta = self.start
        yield theta
        for i in range(updates):
            x, y = self.x[i % len(self.x)], self.y[i % len(self.x)]
            with np.errstate(over="ignore", invalid="ignore"):
                theta = theta - rate * (x @ theta - y) * x
            yield theta
            if not np.isfinite(self.mse(theta)):
                return

    def all_at_once(self, rate: float, updates: int) -> Iterator[Array]:
        """Yield theta before the first update and after each, by the gradient over all examples, from zero."""
        theta = self.start
        yield theta
        for _ in range(updates):
            theta = theta - rate * self.x.T @ (self.x @ theta - self.y) / len(self.x)
            yield theta

    def largest_rate(self) -> float:
        """Return the rate below which passes over the examples, in order, converge; by bisection."""
        return bisected(self._shrinks, SMALLEST, LARGEST, BISECTIONS)

    def passes_to(self, share: float, rate: float) -> float:
        """Return after how many passes, in order, the error is `share` of that of theta = 0; inf for never.

        A pass is an affine map; powers of it reach any number of passes without going through all of them.
        """
        linear, shift = self._pass(rate)
        target = share * self.mse(self.start)
        end = np.asarray(np.linalg.solve(np.eye(len(linear)) - linear, shift), dtype=np.float64)
        if self.mse(end) >= target:
            return np.inf
        powers = [linear]
        while self.mse(end - powers[-1] @ end) > target and 2 ** len(powers) < LONGEST:
            powers.append(powers[-1] @ powers[-1])
        return float(first_step(powers, -end, lambda away: self.mse(end + away) > target))

    def _shrinks(self, rate: float) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            linear, _ = self._pass(rate)
        return bool(np.isfinite(linear).all() and np.abs(np.linalg.eigvals(linear)).max() < 1)

    def _pass(self, rate: float) -> tuple[Array, Array]:
        """Return (A, c) of one pass over all examples in order: theta -> A @ theta + c."""
        linear, shift = np.eye(self.x.shape[1]), self.start
        for x, y in zip(self.x, self.y, strict=True):
            linear, shift = linear - rate * np.outer(x, x @ linear), shift - rate * (x @ shift - y) * x
        return linear, shift
