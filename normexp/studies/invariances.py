"""Which changes of weights and data a normalized layer does not notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from normexp.norms.checks import invariance
from normexp.norms.checks.invariance import changed, output
from normexp.norms.checks.subject import Subject, distance, make_subject
from normexp.seeding import seeded
from normexp.studies.base import Number, Outcome, Study, StudyContext
from normexp.training.build import build_norm

SAME = 1e-9  # relative, in float64
ROUNDING = torch.finfo(torch.float64).eps


def recenter_case(subject: Subject) -> None:
    """x_n -> x_n + r, for one training case n."""
    x = subject.x
    x[0].add_(torch.randn(x.shape[1], *[1] * (x.dim() - 2), dtype=x.dtype))


CHANGES: dict[str, Callable[[Subject], None]] = {  # the rows of the paper's table 1, as columns: case_rescaling
    name.removeprefix("single training ").replace("re-", "re").replace(" ", "_"): change
    for name, change in invariance.CHANGES.items()
}


@dataclass(frozen=True, kw_only=True)
class Invariances(Study):
    """How far each change moves a layer's output under the configuration's scheme: ||y' - y|| / ||y||.

    The layer is that of `normexp check`: 24 inputs, 128 units, 96 examples, float64, training mode, all but without
    eps, without bias, at initial gain and shift, running estimates settled. Factors are 3, shifts are N(0, 1). A
    change below the rounding of float64 counts as that.

    Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, section 5.1, table 1; re-centering of one case is ours.
    """

    def measure(self, context: StudyContext) -> Outcome:
        with seeded(context.seed, "invariances"):
            subject = make_subject(build_norm(context.config))
            expected = output(subject.copy())
            moved = {
                name: max(distance(changed(subject, change), expected), ROUNDING)
                for name, change in {**CHANGES, "case_recentering": recenter_case}.items()
            }
        unnoticed = sum(moved[name] < SAME for name in CHANGES)
        numbers = layer_norm_numbers(moved) if context.config.choices["norm"] == "layer" else ()
        return Outcome([{"step": 0, **moved, "invariant_to": unnoticed}], {}, list(numbers))


def layer_norm_numbers(moved: dict[str, float]) -> Iterator[Number]:
    """Yield the four halves of the slide's two sentences on layer normalization."""
    for quantity, changes, remark in (
        (
            "weight scaling",
            ["weight_matrix_rescaling"],
            "For the whole matrix; one unit's weight vector must not be scaled alone.",
        ),
        (
            "weight translation",
            ["weight_matrix_recentering"],
            "For one vector added to the weights of every unit, which shifts a sample's summed inputs alike.",
        ),
        ("data rescaling", ["dataset_rescaling", "case_rescaling"], "Of all samples, and of a single one."),
        (
            "data translation",
            ["dataset_recentering", "case_recentering"],
            "A shift of the data moves the units' summed inputs by different amounts, so it stays; layer norm takes "
            "off only a shift common to all units. Batch norm is the one invariant to a translation of the data.",
        ),
    ):
        largest = max(moved[change] for change in changes)
        yield Number(
            document="S002",
            place='slide "Effects of layer normalization"',
            quantity=f"layer norm is invariant to {quantity}",
            printed="invariance",
            computed=f"the output moves by {largest:.2g} of its norm",
            agrees=largest < SAME,
            remark=remark,
        )
