"""Gradient descent on least squares behind batch normalization converges at any rate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from normexp.errors import UserError
from normexp.seeding import generator
from normexp.studies.arithmetic.numbers import Array
from normexp.studies.base import Outcome, Study, StudyContext

SHARE = 1e-6  # of the first excess loss: where an arm counts as arrived
LARGEST = 1e300  # beyond it a run has diverged


@dataclass(frozen=True, kw_only=True)
class LeastSquaresRate(Study):
    """Full-batch descent on E (y - gain w'x / sqrt(w'Hw))^2 / 2, H = E xx', or on E (y - w'x)^2 / 2 without a norm.

    Targets are linear in Gaussian inputs plus noise, in float64. `loss` is that after all updates and `least` the
    least-squares minimum, which is what the loss has to become whatever `rate` is; `steps` is when the excess was
    first below a millionth of the first one, all updates + 1 where it never was. `length` is sqrt(w'Hw) at the end.

    Why any rate works: the gradient is orthogonal to w, so ||w||^2 only grows, by rate^2 ||gradient||^2; the rate that
    counts, rate / w'Hw, falls until it is below what the curvature allows, and w stays finite as the gradient vanishes.
    After one step at a large rate w is of the order of the rate, so that the rate that counts is of order 1 / rate.

    Args:
        normalized: with the norm, or plain.
        rate: of w; the gain has the rate 1, its Newton step.
        updates: most.
        features, examples: of the data.
        noise: standard deviation of the targets' noise.

    Raises: UserError unless there are fewer features than examples: else the minimum is 0 or H has no inverse.

    Source: Cai, Li & Shen 2019, arXiv:1810.00122; Arora, Li & Lyu 2019, arXiv:1812.03981; Kohler et al. 2019,
    arXiv:1805.10694.
    """

    normalized: bool = True
    rate: float = 1.0
    updates: int = 100_000
    features: int = 20
    examples: int = 400
    noise: float = 0.5

    def measure(self, context: StudyContext) -> Outcome:
        if self.features >= self.examples:
            raise UserError(
                f"study.features={self.features}: must be fewer than study.examples={self.examples}; "
                "else the minimum is 0 or no single one"
            )
        source = generator(context.seed, "regression")
        x, w, e = (torch.randn(n, dtype=torch.double, generator=source).numpy()
                   for n in ((self.examples, self.features), (self.features,), (self.examples,)))  # fmt: skip
        y = x @ w + self.noise * e
        start = torch.randn(self.features, dtype=torch.double, generator=source).numpy()
        h, g, c = x.T @ x / len(x), x.T @ y / len(x), float(y @ y) / len(x)
        least = (c - float(g @ np.linalg.solve(h, g))) / 2
        path = (self._with_norm if self.normalized else self._plain)(h, g, c, start / np.linalg.norm(start))
        first, steps, now = math.nan, self.updates + 1, (math.inf, math.inf)
        for step, now in enumerate(path):
            loss = now[0]
            first = loss - least if step == 0 else first
            if loss - least < SHARE * first and step < steps:
                steps = step
            if not loss < LARGEST:
                break
        return Outcome([{"step": 1, "loss": now[0], "least": least, "steps": steps, "length": now[1]}])

    def _with_norm(self, h: Array, g: Array, c: float, w: Array) -> Iterator[tuple[float, float]]:
        """Yield loss and sqrt(w'Hw) before every update and after the last."""
        gain = 0.0
        for _ in range(self.updates + 1):
            hw = h @ w
            length = math.sqrt(float(w @ hw))
            fit = float(w @ g) / length
            yield (c - 2 * gain * fit + gain * gain) / 2, length
            before, w = w, w + self.rate * gain / length * (g - fit / length * hw)
            if gain == fit and np.array_equal(w, before):
                return  # at rest, to the last bit: no further update would change anything
            gain = fit

    def _plain(self, h: Array, g: Array, c: float, w: Array) -> Iterator[tuple[float, float]]:
        for _ in range(self.updates + 1):
            hw = h @ w
            yield float(w @ hw - 2 * (w @ g) + c) / 2, math.sqrt(max(float(w @ hw), 0.0))
            with np.errstate(over="ignore", invalid="ignore"):
                before, w = w, w - self.rate * (hw - g)
            if np.array_equal(w, before):
                return
