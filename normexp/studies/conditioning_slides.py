"""The slides on inputs without zero mean and unit variance, sentence by sentence and formula by formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from normexp.errors import UserError
from normexp.norms.checks.subject import distance
from normexp.seeding import seeded
from normexp.studies.arithmetic.descent import Quadratic
from normexp.studies.arithmetic.numbers import counts
from normexp.studies.arithmetic.update_signs import share_of_layers, share_of_units, updates
from normexp.studies.base import Number, Outcome, Study, StudyContext
from normexp.training.components import Components

TOLERANCE = 1e-6  # relative, float64; rates are found to 1e-7
PLACE = "What happens if input samples are not 0 mean and unit variance?"


@dataclass(frozen=True, kw_only=True)
class ConditioningSlides(Study):
    """What the slides state of L(W) = (1/2) E ||y - W x||^2, evaluated at a random W on the training inputs.

    W* is the least squares solution, derivatives are autograd's, in float64. There is no bias, as on the slides.

    Args:
        signs: number of inputs whose updates are looked at.

    Raises: UserError for data without targets that are numbers.

    Source: Arpit, Normalization Techniques (slides), "What happens if input samples are not 0 mean [and unit
    variance]?"
    """

    signs: int = 256

    def measure(self, context: StudyContext) -> Outcome:
        if context.data.task != "regression":
            raise UserError(f"study=conditioning_slides: dataset={context.config.choices['dataset']} is no regression")
        examples = context.components.batches.examples
        x, y = (each.double().cpu() for each in examples.first(len(examples)))
        around = Expansion.of(x.flatten(1), y, context.seed)
        numbers = [
            *_expansions(around),
            *_updates(around),
            *_rates(Quadratic.of(x.flatten(1).numpy())),
            *self._signs(context.components, context.config["batch_size"]),
        ]
        return Outcome([{"step": 0, **counts(numbers)}], numbers=numbers)

    def _signs(self, components: Components, batch_size: int) -> Iterator[Number]:
        x, y = components.batches.first(self.signs)
        number = replace(
            _number("all the weight units get updated with the same sign", "x > 0: the same sign", "", agrees=None),
            place="What happens if input samples are not 0 mean?",
        )
        unit, layer, batches = (
            share(updates(components.model, components.task, x, y, size))
            for share, size in ((share_of_units, 1), (share_of_layers, 1), (share_of_units, batch_size))
        )
        for share, reading, remark in (
            (unit, "all weights of one unit, one example", ""),
            (layer, "all weights of all units of the layer, one example", "The sign is that of delta, one per unit."),
            (batches, f"all weights of one unit, batches of {batch_size}", "Deltas of both signs are added up."),
        ):
            computed = f"in {100 * share:.4g} % of the updates"
            yield replace(number, computed=computed, agrees=share == 1, reading=reading, remark=remark)


@dataclass(frozen=True)
class Expansion:
    """The loss around its minimum.

    Shapes: away = W - W*, gradient and gradient_at_minimum (T, D); hessian (D, D) of one row of W; second_moments
    (D, D); excess ().
    """

    away: Tensor
    excess: Tensor
    gradient: Tensor
    gradient_at_minimum: Tensor
    hessian: Tensor
    second_moments: Tensor

    @classmethod
    def of(cls, x: Tensor, y: Tensor, seed: int) -> Expansion:
        """Return the expansion for inputs x (N, D) and targets y (N, T), at W* + N(0, 1)."""
        minimum = torch.linalg.lstsq(x, y).solution.T
        with seeded(seed, "expansion"):
            away = torch.randn(minimum.shape, dtype=x.dtype)

        def loss(weight: Tensor) -> Tensor:
            return (y - x @ weight.T).square().sum(1).mean() / 2

        def gradient(weight: Tensor) -> Tensor:
            found: Tensor = torch.autograd.functional.jacobian(loss, weight)
            return found

        hessian = torch.autograd.functional.hessian(loss, minimum)[0, :, 0, :]
        excess = loss(minimum + away) - loss(minimum)
        return cls(away, excess, gradient(minimum + away), gradient(minimum), hessian, x.T @ x / len(x))

    def along(self, matrix: Tensor) -> Tensor:
        """Return (W - W*)^T M (W - W*), summed over the rows of W."""
        return ((self.away @ matrix) * self.away).sum()


def _expansions(e: Expansion) -> Iterator[Number]:
    """Yield what the slides print of the loss around its minimum, and of its derivative."""
    first = float((e.away * e.gradient_at_minimum).sum() / e.excess)
    second = float(e.along(e.hessian) / e.excess)
    half = _ratio(e.gradient, e.away @ e.hessian / 2)
    yield _number(
        "Taylor's expansion, first version", "L(W*) + (W - W*)^T dL/dW* (W - W*)",
        f"{first:.2g} of the excess loss L(W) - L(W*)", abs(first - 1) < TOLERANCE,
        "The first derivative is 0 at a minimum; the Hessian belongs there, and the factor 1/2.",
    )  # fmt: skip
    yield _number(
        "Taylor's expansion, second version", "L(W*) + (W - W*)^T d2L/dW2 (W - W*)",
        f"{second:.10g} times the excess loss L(W) - L(W*)", abs(second - 1) < TOLERANCE,
        "The factor 1/2 is missing: L(W*) + (1/2) (W - W*)^T d2L/dW2 (W - W*).",
    )  # fmt: skip
    yield _number(
        "derivative of the expansion", "(1/2) d2L/dW2 (W - W*)", f"the gradient is {half:.10g} times as large",
        abs(half - 1) < TOLERANCE, "The derivative of (1/2) e^T H e is H e, without 1/2.",
    )  # fmt: skip


def _updates(e: Expansion) -> Iterator[Number]:
    """Yield what the slides print of the Hessian, and of the update that it makes of a step down the gradient."""
    hessian = distance(e.second_moments, e.hessian)
    update = distance(e.away @ e.second_moments, e.gradient)
    rotated = distance(e.away @ _vectors(e) * _values(e), e.gradient @ _vectors(e))
    direct = distance(e.away * _values(e), e.gradient)
    yield _number("Hessian", "E[x x^T]", f"largest relative deviation {hessian:.1g}", hessian < TOLERANCE)
    yield _number(
        "update rule", "W - eta E[x x^T] (W - W*)", f"relative deviation of the gradient {update:.1g}",
        update < TOLERANCE, "Right, although it does not follow from the derivative as printed.",
    )  # fmt: skip
    diagonal = (
        "update rule with diag(lambda_max, ..., lambda_min)",
        "W - eta diag(lambda_max, ..., lambda_min) (W - W*)",
    )
    for deviation, reading in ((direct, "in the coordinates of x"), (rotated, "in the coordinates of eigenvectors")):
        number = _number(*diagonal, f"relative deviation of the gradient {deviation:.1g}", deviation < TOLERANCE)
        remark = "" if number.agrees else "It holds once W and x are rotated to the eigenvectors of E[x x^T]."
        yield replace(number, reading=reading, remark=remark)


def _rates(loss: Quadratic) -> Iterator[Number]:
    stable, smooth = loss.largest_stable() * loss.values[0], loss.largest_smooth() * loss.values[0]
    for found, reading, remark in (
        (
            stable,
            "beyond it, gradient descent diverges",
            "Gradient descent on a quadratic converges below 2/lambda_max.",
        ),
        (smooth, "beyond it, an error changes its sign from step to step", ""),
    ):
        computed, agrees = f"{found:.6f}/lambda_max, by bisection", bool(abs(found - 1) < TOLERANCE)
        number = _number("cap of the learning rate", "eta is capped by 1/lambda_max", computed, agrees, remark)
        yield replace(number, reading=reading)


def _number(quantity: str, printed: str, computed: str, agrees: bool | None, remark: str = "") -> Number:
    return Number("S002", PLACE, quantity, printed, computed, agrees, remark=remark)


def _ratio(found: Tensor, printed: Tensor) -> float:
    """Return the factor by which the found tensor is the printed one, in the sense of least squares."""
    return float((found * printed).sum() / printed.square().sum())


def _values(e: Expansion) -> Tensor:
    return torch.linalg.eigvalsh(e.second_moments).flip(0)


def _vectors(e: Expansion) -> Tensor:
    return torch.from_numpy(np.linalg.eigh(e.second_moments.numpy())[1]).flip(1)
