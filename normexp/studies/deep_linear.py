"""A deep linear net with and without a norm: what it takes off the gradient, and how the loss changes along that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.seeding import generator
from normexp.studies.arithmetic.doubling import is_doubling
from normexp.studies.arithmetic.lengths import length_together
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.training.build import build_norm
from normexp.training.fit import descend

STEPS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # of the rate, along the gradient: the paper's range
ROUNDING = 1e-10  # of the gradient that enters, which the formula takes differences of


Weights = Mapping[str, Tensor]  # by the parameter's name


@dataclass(frozen=True, kw_only=True)
class DeepLinear(Study):
    """Train W_1 ... W_L of a linear net on |f(x) - A x|^2, summed over all examples, by gradient descent in float64.

    Rows are at 0, 1, 2, 4, ... updates. `gradient` is the length of the gradient with respect to what enters the norm
    where it is furthest from the `formula`, over all layers; `rounding` what the formula's arithmetic may be off by.
    `cosine` is between the gradient of the middle weight and the same gradient after all layers below it were updated.
    Along the gradient, for 1/100 to 30 times the rate: `range`, the largest loss over the smallest, and
    `smoothness`, the largest change of the gradient over the distance moved.

    Derived: y = s u + b over m examples, u = (x - mean) / d, d^2 = mean (x - mean)^2. A change dx changes y by
    (s / d) (dx - mean dx - u mean(u dx)), a symmetric projection, and so the gradient g with respect to y becomes
    (s / d) (g - mean g - u mean(u g)), of squared length (s / d)^2 (|g|^2 - (1'g)^2 / m - (u'g)^2 / m). The paper's
    theorem has this as an upper bound; it is an equality.

    Args:
        depth, width: of the net, square layers.
        examples: standard normal inputs.
        updates, lr: of gradient descent.

    Source: Santurkar, Tsipras, Ilyas & Madry 2018, arXiv:1805.11604, and its deep linear network; the formula is
    derived above. Initialization and the sum over examples are our reading.
    """

    depth: int = 25
    width: int = 10
    examples: int = 1000
    updates: int = 1000
    lr: float = 1e-6

    def measure(self, context: StudyContext) -> Outcome:
        source = generator(context.seed, "examples")
        x = torch.randn(self.examples, self.width, dtype=torch.double, generator=source)
        y = x @ torch.randn(self.width, self.width, dtype=torch.double, generator=source).T
        net = self._net(build_norm(context.config), context.seed)
        optimizer = torch.optim.SGD(net.parameters(), self.lr)
        rows = []
        for step in range(self.updates + 1):
            if is_doubling(step) or step == self.updates:
                rows.append(self._row(net, x, y, step))
            descend(optimizer, square_error(net(x), y))
        return Outcome(rows)

    def _net(self, norm: Norm, seed: int) -> nn.Sequential:
        blocks = nn.Sequential()
        for k in range(self.depth):
            layer = nn.Linear(self.width, self.width, bias=False)
            nn.init.xavier_normal_(layer.weight, generator=generator(seed, "layer", k))
            blocks.append(nn.Sequential(layer, norm.linear_normalization(self.width)))
        return blocks.double().train()

    def _row(self, net: nn.Sequential, x: Tensor, y: Tensor, step: int) -> Row:
        here = {name: each.detach() for name, each in net.named_parameters()}
        loss, gradient = at(net, here, x, y)
        return {
            "step": step,
            "loss": loss,
            **identity(net, x, y),
            "cosine": self._cosine(net, here, gradient, x, y),
            **self._landscape(net, here, gradient, x, y),
        }

    def _cosine(self, net: nn.Sequential, here: Weights, gradient: Weights, x: Tensor, y: Tensor) -> float:
        middle = self.depth // 2
        below = {name: each for name, each in gradient.items() if int(name.split(".")[0]) < middle}
        _, after = at(net, {**here, **step_along({name: here[name] for name in below}, below, self.lr)}, x, y)
        name = f"{middle}.0.weight"
        return float(torch.cosine_similarity(gradient[name].flatten(), after[name].flatten(), dim=0))

    def _landscape(
        self, net: nn.Sequential, here: Weights, gradient: Weights, x: Tensor, y: Tensor
    ) -> dict[str, float]:
        length, losses, changes = length_together(gradient.values()), [], []
        for times in STEPS:
            loss, there = at(net, step_along(here, gradient, times * self.lr), x, y)
            losses.append(loss)
            changed = {name: there[name] - each for name, each in gradient.items()}
            changes.append(length_together(changed.values()) / (times * self.lr * length))
        return {"range": max(losses) / min(losses), "smoothness": max(changes)}


def square_error(out: Tensor, y: Tensor) -> Tensor:
    return (out - y).square().sum()


def at(net: nn.Module, weights: Weights, x: Tensor, y: Tensor) -> tuple[float, Weights]:
    """Return the loss and its gradient at these weights; the net keeps its own."""
    leaves = {name: each.detach().requires_grad_() for name, each in weights.items()}
    loss = square_error(torch.func.functional_call(net, leaves, x), y)
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return float(loss.detach()), dict(zip(leaves, gradients, strict=True))


def step_along(weights: Weights, gradient: Weights, rate: float) -> Weights:
    return {name: each - rate * gradient[name] for name, each in weights.items()}


def identity(net: nn.Sequential, x: Tensor, y: Tensor) -> dict[str, float]:
    """Return the gradient in front of the norm beside the formula, in the layer where they are furthest apart."""
    passages, signal = [], x
    for block in net.children():
        layer, norm = block.children()
        inside = layer(signal)
        signal = norm(inside)
        passages.append((inside, signal, getattr(norm, "weight", None)))
    if any(inside is outside for inside, outside, _ in passages):  # no norm
        return dict.fromkeys(("gradient", "formula", "rounding"), math.nan)
    reached = torch.autograd.grad(square_error(signal, y), [end for each in passages for end in each[:2]])
    found = [
        compared(inside.detach(), scale, entering, leaving)
        for (inside, _, scale), entering, leaving in zip(passages, reached[::2], reached[1::2], strict=True)
    ]
    return max(found, key=lambda each: abs(each["gradient"] - each["formula"]) / each["rounding"])


def compared(inside: Tensor, scale: Tensor | None, entering: Tensor, leaving: Tensor) -> dict[str, float]:
    """Return the length of the gradient in front of a norm, (N, C), and that of the formula from the one behind it."""
    m, deviation = len(inside), inside.std(0, correction=0)
    u = (inside - inside.mean(0)) / deviation
    factor = ((1.0 if scale is None else scale.detach()) / deviation).square()
    behind = leaving.square().sum(0)
    left = behind - leaving.sum(0).square() / m - (u * leaving).sum(0).square() / m
    formula = math.sqrt(max(float((factor * left).sum()), 0.0))
    allowed = ROUNDING * math.sqrt(float((factor * behind).sum()))
    return {"gradient": float(entering.norm()), "formula": formula, "rounding": allowed}
