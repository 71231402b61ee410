"""What multiplying a layer's weights by c does to its output and to its gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.norms.checks.batch_dependence import depends_on_batch
from normexp.norms.checks.subject import Subject, distance, make_subject, settle
from normexp.seeding import seeded
from normexp.studies.base import Number, Outcome, Study, StudyContext
from normexp.training.build import build_norm

SAME = 1e-9  # relative, in float64


@dataclass(frozen=True)
class Scaled:
    """What a block does when its weights are c times as large, under one and the same cotangent."""

    factor: float
    output: Tensor
    by_weight: Tensor
    by_input: Tensor


@dataclass(frozen=True, kw_only=True)
class ScaleInvariance(Study):
    """Output and gradients of one layer under the configuration's scheme at weights c W, relative to those at W.

    Args:
        factors: every c.
        exact: all but without eps; false keeps the scheme's own eps, as in training.

    The layer is that of `normexp check`: 24 inputs, 128 units, 96 examples, float64, training mode, running
    estimates settled. The table `factors` has the largest changes at every c, in the order of the factors.

    Raises: UserError for fewer than two different factors.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, section 3.3: BN(a W u) = BN(W u), dBN(a W u)/d(a W) =
    1/a dBN(W u)/dW, dBN(a W u)/du = dBN(W u)/du.
    """

    factors: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    exact: bool = True

    def measure(self, context: StudyContext) -> Outcome:
        if len(set(self.factors)) < 2:
            raise UserError(f"study.factors={list(self.factors)}: an exponent needs two different factors")
        norm = build_norm(context.config)
        with seeded(context.seed, "scale invariance"):
            subject = make_subject(norm, exact=self.exact)
            settle(subject)
            cotangent = torch.randn_like(subject.copy().block(subject.x))
            first, *others = (scaled(subject, factor, cotangent) for factor in (1.0, *self.factors))
        table = [relative(each, first) for each in others]
        sizes = np.array([row["gradient_norm"] for row in table])
        metrics = {
            "output_change": max(row["output_change"] for row in table),
            "gradient_exponent": float(np.polyfit(np.log(self.factors), np.log(sizes), 1)[0]),
            "inverse_law_error": max(row["inverse_law_error"] for row in table),
            "input_gradient_change": max(row["input_gradient_change"] for row in table),
        }
        numbers = self._numbers(context.config.choices["norm"], norm, metrics) if self.exact else ()
        return Outcome([{"step": 0, **metrics}], {"factors": table}, list(numbers))

    def _numbers(self, name: str, norm: Norm, metrics: dict[str, float]) -> Iterator[Number]:
        if name == "batch":
            yield from batch_norm_numbers(metrics, self.factors)
        if name == "normprop":
            yield from normprop_numbers(norm, metrics)


def scaled(subject: Subject, factor: float, cotangent: Tensor) -> Scaled:
    """Return outputs and gradients of sum(cotangent y) at weights c W; the subject stays as it was."""
    larger = subject.copy()
    with torch.no_grad():
        larger.weight.mul_(factor)
    settle(larger)
    x = larger.x.requires_grad_()
    y = larger.block(x)
    by_weight, by_input = torch.autograd.grad(y, [larger.weight, x], cotangent)
    return Scaled(factor, y.detach(), by_weight, by_input)


def relative(found: Scaled, first: Scaled) -> dict[str, float]:
    """Return what c changed: norms of differences, relative to the norms at W."""
    return {
        "factor": found.factor,
        "output_change": distance(found.output, first.output),
        "gradient_norm": float(found.by_weight.norm() / first.by_weight.norm()),
        "inverse_law_error": distance(found.factor * found.by_weight, first.by_weight),
        "input_gradient_change": distance(found.by_input, first.by_input),
    }


def batch_norm_numbers(metrics: dict[str, float], factors: Sequence[float]) -> Iterator[Number]:
    place, reading = 'slides "Effects of batch normalization"', "without eps"
    remark = f"Exact without eps; c from {min(factors):g} to {max(factors):g}."
    for quantity, printed, metric in (
        ("representations become scale invariant", "BN(cWx) = BN(Wx)", "output_change"),
        ("gradients become inversely proportional", "dBN(cWx)/d(cW) = (1/c) dBN(Wx)/dW", "inverse_law_error"),
    ):
        found = metrics[metric]
        yield Number("S002", place, quantity, printed, f"largest deviation {found:.0e}", found < SAME, reading, remark)


def normprop_numbers(norm: Norm, metrics: dict[str, float]) -> Iterator[Number]:
    """Yield what the slides say of normalization propagation beside batch norm, with what was measured here."""
    place = 'slide "Extension to other Activation functions"'
    found, mixes = metrics["inverse_law_error"], depends_on_batch(norm, training=True)
    yield Number(
        "S002", place, "NormProp has the parameter scaling effects of batch norm", "identical",
        f"gradient 1/c: largest deviation {found:.0e}", found < SAME,
        remark="For W; the published algorithm also sets every unit's W back to length 1 after each step.",
    )  # fmt: skip
    yield Number(
        "S002", place, "NormProp has the regularization effects of batch norm", "identical",
        f"a sample's representation {'depends' if mixes else 'does not depend'} on its mini-batch", mixes,
        reading="global data normalization",
        remark="The slides explain this effect of batch norm by representations that depend on the mini-batch; with "
        "data normalized batch by batch NormProp has something of it, with global normalization nothing.",
    )  # fmt: skip
