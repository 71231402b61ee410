"""The gradient through a linear batch-normalized net: it explodes with Gaussian weights, not with orthogonal ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, set_weight
from normexp.probes.gram_distance import gram_distance
from normexp.seeding import generator
from normexp.studies.arithmetic.logarithms import log
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.studies.deep_chain import square_matrix
from normexp.studies.unit_squares import check_unit_squares
from normexp.training.build import build_norm


@dataclass(frozen=True, kw_only=True)
class OrthogonalDepth(Study):
    """How many e-foldings the gradient has from the top of a linear net to its inputs, at initialization, in float64.

    `log_growth` is the logarithm of the gradient's root mean square with respect to the activations in front of the
    first layer over that behind the last; `per_layer` is its share of a layer. A bounded gradient has a per_layer of 0
    but for 1/depth: `allowed` is a total change by ln(width), whatever the depth.

    Why it is bounded: a batch of as many independent examples as units is orthogonalized by the layers, and once
    H H' is a multiple of I, W H has rows of one length, which the norm leaves alone: every layer is then a rotation.

    Derived, `allowed`: without what the norm's gradient takes off, the way back is F', F = H(end) / H(0), and as H(end)
    is sqrt(width) times an orthogonal matrix its singular values are sqrt(width) over those of the Gaussian H(0). A
    random gradient grows by their root mean square, which the smallest s of H(0) rules: s_min^2 = x / width with
    P(x < t) = 1 - exp(-t/2 - sqrt(t)) [Edelman 1988], so by ln(width) / 2 + ln(1/x) / 2 and a constant;
    ln(width) is passed where x < 1 / width, in one net of ten at a width of 100. That what is taken off only makes it
    smaller is argued, not proved.

    Args:
        weights: `orthogonal` (uniformly distributed) or `gaussian`, of variance 1 / width.
        depth, width: layers, and their units.
        examples: standard normal ones in the batch; as many as units, so that they can be orthogonal.
        centre: whether the norm subtracts the mean; without, every unit is divided by its root mean square.
        control: measure also where the law does not apply.

    Raises: UserError, unless `control`, for a scheme that does not give every unit the mean square 1 over the batch.

    Source: Meterez, Joudaki, Orabona, Immer, Raetsch & Daneshmand 2024 [set-up from the authors' code,
    alexandrumeterez/bngrad].
    """

    weights: str = "orthogonal"
    depth: int = 100
    width: int = 100
    examples: int = 100
    centre: bool = True
    control: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        norm = build_norm(context.config)
        if not self.control:
            self._check(norm, f"study=orthogonal_depth norm={context.config.choices['norm']}")
        source = generator(context.seed, "inputs")
        signals = [torch.randn(self.examples, self.width, dtype=torch.double, generator=source).requires_grad_()]
        for k in range(self.depth):
            layer = nn.Linear(self.width, self.width, bias=False).double()
            set_weight(layer, square_matrix(self.weights, self.width, generator(context.seed, "layer", k)))
            block = norm.block(layer).double().train() if self.centre else nn.Sequential(layer, BatchRootMeanSquare())
            signals.append(block(signals[-1]))
        top = torch.randn(signals[-1].shape, dtype=torch.double, generator=source)
        bottom, behind = torch.autograd.grad(signals[-1], [signals[0], signals[-1]], top)
        log_growth = log(float(bottom.norm())) - log(float(behind.norm()))
        row = {
            "log_growth": log_growth,
            "per_layer": log_growth / self.depth,
            "bounded": 0.0,
            "allowed": math.log(self.width),
            "gram_distance": gram_distance(signals[-1].detach()),
        }
        return Outcome([{"step": self.depth, **row}])

    def _check(self, norm: Norm, who: str) -> None:
        x = torch.randn(self.examples, self.width, dtype=torch.double, generator=generator(0, "trial"))
        check_unit_squares(norm.linear_normalization(self.width).double().train(), x, who, control=True)


class BatchRootMeanSquare(nn.Module):
    """Divides every unit by its root mean square over the batch: batch normalization that does not subtract a mean."""

    def forward(self, x: Tensor) -> Tensor:
        return x / x.square().mean(0).sqrt()
