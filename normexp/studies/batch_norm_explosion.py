"""How fast gradients grow through a deep net that batch normalization has made, at initialization."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.models.activations import activation
from normexp.norms.base import Norm
from normexp.seeding import generator
from normexp.studies.arithmetic.logarithms import log, log10
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.build import build_norm

LIMIT = math.pi / (math.pi - 1)  # of ReLU, for large batches; the factor of normalization propagation's Jacobian, too


@dataclass(frozen=True, kw_only=True)
class BatchNormExplosion(Study):
    """The squared gradient in front of every layer over that behind it, for Gaussian weights, inputs and top.

    Step k is the gradient with respect to the activations k layers below the top, as `log10_gradient`, the logarithm
    of its mean square over that at the top. `growth` is the factor per layer over the middle half of the layers, the
    geometric mean, which neither the way of the inputs to their fixed point nor the artificial top have part in.

    Derived for width to infinity. A unit's pre-activations z (B,) are Gaussian with covariance s (I - 11'/B) around
    their mean, s B/(B-1) times the unit variance of its inputs without a nonlinearity. y = sqrt(B) Pz/||Pz|| has the
    Jacobian sqrt(B)/||Pz|| (P - y y'/B); a gradient that lies in P loses 1/(B-1) of its square there, and
    E[1/chi2(B-1)] = 1/(B-3), so the factor is (B-1)/(B-3) (B-2)/(B-1) = (B-2)/(B-3). With ReLU and B to infinity
    z has the variance 1/2 - 1/(2 pi) of a rectified normal and ReLU'^2 is 1/2 on average: pi/(pi-1).

    What a finite B does with ReLU is not derived: `formula` has the same factor (B-2)/(B-3) times the limit, ours,
    which leaves 1/B^2; `limit` is the published one, with a remainder of 2/B. The law of large numbers over units adds
    B/(B-3)/width, and width^(-1/3) at B = 4, where 1/chi2(3) has no variance and sums converge like a stable law's.

    Args:
        activation: `identity` or `relu`.
        width, depth: of all layers. Weights have variance 1 / width.
        batch: examples B.

    Source: Yang, Pennington, Rao, Sohl-Dickstein & Schoenholz 2019, arXiv:1902.08129; the formulas
    are derived above.
    """

    activation: str = "relu"
    width: int = 1000
    depth: int = 40
    batch: int = 64

    def measure(self, context: StudyContext) -> Outcome:
        if self.batch < 4:
            raise UserError(f"study.batch={self.batch}: with fewer than 4 examples the factor (B-2)/(B-3) is none")
        squares = self._squares(build_norm(context.config), context.seed)
        first, last = self.depth // 4, self.depth - self.depth // 4
        growth = math.exp((log(squares[last]) - log(squares[first])) / (last - first))
        formula, remainder, limit = self.formula
        rows = [
            {"step": k, "log10_gradient": log10(each / squares[0]), "log10_formula": k * math.log10(formula),
             "growth": growth, "formula": formula, "remainder": remainder,
             "limit": limit, "limit_remainder": 2 * limit / self.batch}
            for k, each in enumerate(squares)
        ]  # fmt: skip
        return Outcome(rows)

    @property
    def formula(self) -> tuple[float, float, float]:
        """The factor per layer for this batch, its remainder, and the factor for a large batch."""
        small = (self.batch - 2) / (self.batch - 3)
        limit = 1.0 if self.activation == "identity" else LIMIT
        units = self.width ** (-1 / 3) if self.batch == 4 else self.batch / (self.batch - 3) / self.width
        order = 0.0 if self.activation == "identity" else 1 / self.batch**2
        return small * limit, small * limit * (units + order), limit

    def _squares(self, norm: Norm, seed: int) -> list[float]:
        """Return the mean squared gradient k layers below the top, for every k."""
        source = generator(seed, "inputs")
        signals = [torch.randn(self.batch, self.width, generator=source).requires_grad_()]
        for k in range(self.depth):
            signals.append(self._block(norm, generator(seed, "layer", k))(signals[-1]))
        top = torch.randn(signals[-1].shape, generator=source)
        gradients: list[Tensor] = list(torch.autograd.grad(signals[-1], signals, top))
        return [float(each.double().square().mean()) for each in gradients[::-1]]

    def _block(self, norm: Norm, source: torch.Generator) -> nn.Module:
        layer = nn.Linear(self.width, self.width, bias=False)
        with torch.no_grad():
            layer.weight.normal_(0, self.width**-0.5, generator=source)
        layer.weight.requires_grad_(False)
        fn = None if self.activation == "identity" else activation(self.activation)
        return norm.block(layer, fn).train()
