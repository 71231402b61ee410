"""Singular values of the Jacobian, of every block and of the whole network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.errors import UserError
from normexp.probes.base import Probe, Reading, Situation, evaluation_mode, inputs_of
from normexp.probes.layers import blocks
from normexp.seeding import generator

NO_DERIVATIVE = "probe=jacobian: the network reads numbers of words or characters, which have no derivative"
Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class Jacobian(Probe):
    """Singular values of J = d output / d input of every block, and of the network from images to outputs.

    Over the singular values of all examples, min(inputs, outputs) each: `mean_square`; of a Jacobian small enough
    to be computed in full also `min`, `median` and `max`. Of a larger one `mean_square` is an estimate, without
    bias, from products with random Gaussian vectors, the same at every evaluation. `row_mean_square` is the mean
    squared length of J's rows, trace(J J^T) / outputs: the same number unless a block widens.

    A block is an nn.Sequential of one Linear or Conv layer and what follows it (normalization, nonlinearity),
    named by its module path, or a layer alone where the network has no such block. Measured in evaluation mode,
    where batch normalization is a fixed map, so that each example has a Jacobian of its own.

    Args:
        count: number of test examples, the same at every evaluation.
        entries: most entries (inputs x outputs) of a Jacobian that is computed in full.
        projections: random vectors per example for a larger one.

    Raises: UserError for a network that reads words or characters by their numbers: these have no derivative.

    Source: Arpit et al. 2016, arXiv:1603.01431: J J^T of a ReLU layer is near pi / (pi - 1) = 1.47 times the
    identity, singular values near 1.2 [from the first author's slides].
    """

    count: int = 8
    entries: int = 262144
    projections: int = 16

    def measure(self, situation: Situation) -> list[Reading]:
        model, (x, _) = situation.model, situation.test(self.count)
        parts = blocks(model)
        entering = inputs_of(model, parts, x)
        with evaluation_mode(model):
            found = {name: self.statistics(parts[name], inputs) for name, inputs in entering.items()}
            found["network"] = self.statistics(model, x)
        return [(name, statistic, value) for name, each in found.items() for statistic, value in each.items()]

    def statistics(self, function: Function, x: Tensor) -> dict[str, float]:
        """Return the statistics of one function at x: (N, *); it maps each example by itself."""
        inputs, outputs = x[0].numel(), function(x[:1]).numel()
        exact = inputs * outputs <= self.entries
        cotangents = torch.eye(outputs) if exact else self.directions(outputs)
        products = torch.stack([pull_back(function, each, cotangents.to(x)) for each in x]).cpu()
        square = float(products.square().sum()) / len(x)
        found = {"mean_square": square / min(inputs, outputs), "row_mean_square": square / outputs}
        return {**found, **(extremes(products) if exact else {})}

    def directions(self, outputs: int) -> Tensor:
        """Return random vectors (projections, outputs), scaled so that E sum ||v J||^2 = ||J||^2."""
        drawn = torch.randn(self.projections, outputs, generator=generator(0, "jacobian"))
        return drawn / self.projections**0.5


def pull_back(function: Function, x: Tensor, cotangents: Tensor) -> Tensor:
    """Return v J for every row v of cotangents (R, outputs) at one example x, as (R, inputs).

    Raises: UserError for a function that has no derivative.
    """
    if not x.is_floating_point():
        raise UserError(NO_DERIVATIVE)
    copies = x.repeat(len(cotangents), *[1] * x.dim()).requires_grad_()
    with torch.enable_grad():
        outputs = function(copies).flatten(1)
    (products,) = torch.autograd.grad(outputs, copies, cotangents, allow_unused=True)
    if products is None:
        raise UserError(NO_DERIVATIVE)
    return products.flatten(1)


def extremes(jacobians: Tensor) -> dict[str, float]:
    """Return min, median and max of the singular values of (N, outputs, inputs); a diverged network has none."""
    if not jacobians.isfinite().all():
        return dict.fromkeys(("min", "median", "max"), float("nan"))
    values = torch.linalg.svdvals(jacobians)
    return {"min": float(values.min()), "median": float(values.quantile(0.5)), "max": float(values.max())}
