"""The largest rate at which gradient descent stays at a minimum, and the largest that it survives."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.seeding import generator
from normexp.studies.arithmetic.descent import largest_rate
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.build import build_norm
from normexp.training.fit import descend

FEATURES, OUTPUTS = 20, 3
DISTANCE = 1e-6  # of the start from the minimum, relative to the weights
PRECISION = 1e-3  # relative, of the rate
STRAY = 1e4  # times the first loss: so far a momentum of 0.9 does not swing out, and a run that grows does
MOST = 5  # powers of four above the formula's rate


@dataclass(frozen=True, kw_only=True)
class LargestRate(Study):
    """Find by bisection the largest rate at which gradient descent returns to a minimum from a small distance.

    A net of `depth` hidden layers with tanh, and the configuration's norm behind every layer, the last one too, gets
    its own outputs as targets: its weights are a minimum, where the loss, half the mean squared error, is 0. `rate` is
    the largest with which the loss after `updates` updates is below that of the start, 1e-6 away in a random
    direction, and never was 10^4 times as high. `survived` is the largest power of four, up to 1,024, by which the
    formula's rate can be multiplied so that gradient descent ends with a loss below that of predicting 0.

    Derived: near the minimum an update is e <- (I - rate H) e, which grows along the eigenvector of the largest
    eigenvalue where rate > 2 / lambda; with momentum m where rate > 2 (1 + m) / lambda. With residuals 0, H = J'J / N
    exactly. A random start has 1 / sqrt(parameters) of its length along that eigenvector, which within `updates`
    updates moves the rate by ln(parameters) / (2 updates) at most, relatively: the remainder.

    Args:
        depth, width: of the hidden layers.
        momentum: of gradient descent.
        examples: standard normal inputs.
        batch: examples of an update; null takes all, as the law needs it.
        updates: after which the loss is compared.

    Raises: UserError for a batch of more examples than there are.

    Source: Bjorck, Gomes, Selman & Weinberger 2018, arXiv:1806.02375, who explain what batch norm does by the larger
    rates that it allows; the law is textbook.
    """

    depth: int = 4
    width: int = 32
    momentum: float = 0.0
    examples: int = 64
    batch: int | None = None
    updates: int = 400

    def measure(self, context: StudyContext) -> Outcome:
        if self.batch is not None and self.batch > self.examples:
            raise UserError(
                f"study.batch={self.batch}: there are study.examples={self.examples}; give fewer, or null for all"
            )
        norm, seed = build_norm(context.config), context.seed
        net = self._net(norm, seed)
        x = torch.randn(self.examples, FEATURES, dtype=torch.double, generator=generator(seed, "examples"))
        y = net(x).detach()
        curvature = largest_curvature(net, x)
        formula = 2 * (1 + self.momentum) / curvature
        worst = float(y.square().sum(1).mean()) / 2

        def losses(rate: float) -> Iterator[float]:
            return self._losses(self._net(norm, seed), x, y, rate, seed)

        parameters = sum(each.numel() for each in net.parameters())
        tried = [4.0**k for k in range(MOST, -1, -1)]
        row = {
            "step": self.depth,
            "curvature": curvature,
            "rate": largest_rate(lambda rate: stays(losses(rate)), 1 / curvature, PRECISION),
            "formula": formula,
            "remainder": formula * (math.log(parameters) / (2 * self.updates) + PRECISION),
            "survived": next((times for times in tried if deque(losses(times * formula), 1)[0] < worst), 0.0),
        }
        return Outcome([row])

    def _net(self, norm: Norm, seed: int) -> nn.Sequential:
        sizes = [FEATURES, *[self.width] * self.depth, OUTPUTS]
        blocks = nn.Sequential()
        for k in range(len(sizes) - 1):
            layer = nn.Linear(sizes[k], sizes[k + 1], bias=False)
            nn.init.normal_(layer.weight, 0, sizes[k] ** -0.5, generator=generator(seed, "layer", k))
            blocks.append(norm.block(layer, nn.Tanh() if k < self.depth else None))
        return blocks.double().train()

    def _losses(self, net: nn.Sequential, x: Tensor, y: Tensor, rate: float, seed: int) -> Iterator[float]:
        """Yield the loss of all examples beside the minimum and after every update, until it is no number."""
        away, order = generator(seed, "away"), generator(seed, "order")
        with torch.no_grad():
            for w in net.parameters():
                w.add_(DISTANCE * w.square().mean().sqrt() * torch.randn(w.shape, dtype=w.dtype, generator=away))
        optimizer = torch.optim.SGD(net.parameters(), rate, momentum=self.momentum)
        loss = half_square(net, x, y)
        yield float(loss.detach())
        for _ in range(self.updates):
            if self.batch is not None:
                chosen = torch.randperm(len(x), generator=order)[: self.batch]
                loss = half_square(net, x[chosen], y[chosen])
            descend(optimizer, loss)
            loss = half_square(net, x, y)
            yield float(loss.detach()) if loss.isfinite() else math.inf
            if not loss.isfinite():
                return


def stays(losses: Iterator[float]) -> bool:
    """Tell whether a run ends nearer to the minimum than it began, and did not stray to another one meanwhile."""
    start = last = next(losses)
    for last in losses:
        if last > STRAY * start:
            return False
    return last < start


def half_square(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return (net(x) - y).square().sum(1).mean() / 2


def largest_curvature(net: nn.Module, x: Tensor) -> float:
    """Return the largest eigenvalue of J'J / N, the Hessian of `half_square` where the residuals are 0."""
    outputs, weights = net(x).flatten(), list(net.parameters())
    rows = [torch.autograd.grad(each, weights, retain_graph=True) for each in outputs]
    jacobian = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    return float(torch.linalg.matrix_norm(jacobian, 2)) ** 2 / len(x)
