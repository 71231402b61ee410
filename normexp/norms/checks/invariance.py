"""The invariance table of the layer normalization paper (Ba, Kiros & Hinton 2016, section 5.1), measured."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from normexp.norms.base import Norm
from normexp.norms.checks.subject import Subject, distance, make_subject, reproducible, settle

FACTOR = 3.0
SAME = 1e-4  # hides an eps of 1e-5 that a scheme does not let go of; a real dependence is above 1e-2


def rescale_weight_matrix(subject: Subject) -> None:
    """W -> c W, for all units of the layer."""
    subject.weight.mul_(FACTOR)


def recenter_weight_matrix(subject: Subject) -> None:
    """W -> W + 1 r^T: the same vector r is added to the incoming weights of every unit."""
    subject.weight.add_(torch.randn_like(subject.weight[:1]))


def rescale_weight_vector(subject: Subject) -> None:
    """w_i -> c w_i, for one unit i."""
    subject.weight[0].mul_(FACTOR)


def rescale_dataset(subject: Subject) -> None:
    """x -> c x, for all cases."""
    subject.x.mul_(FACTOR)


def recenter_dataset(subject: Subject) -> None:
    """x -> x + r, the same vector r (one number per input) for all cases and positions."""
    x = subject.x
    x.add_(torch.randn(1, x.shape[1], *[1] * (x.dim() - 2), dtype=x.dtype))


def rescale_case(subject: Subject) -> None:
    """x_n -> c x_n, for one training case n."""
    subject.x[0].mul_(FACTOR)


CHANGES: dict[str, Callable[[Subject], None]] = {
    "weight matrix re-scaling": rescale_weight_matrix,
    "weight matrix re-centering": recenter_weight_matrix,
    "weight vector re-scaling": rescale_weight_vector,
    "dataset re-scaling": rescale_dataset,
    "dataset re-centering": recenter_dataset,
    "single training case re-scaling": rescale_case,
}


def invariances(norm: Norm) -> dict[str, bool]:
    """Return, for every change, whether the layer's training output stays the same on all cases."""
    return {name: moved < SAME for name, moved in sensitivities(norm).items()}


def sensitivities(norm: Norm) -> dict[str, float]:
    """Return, for every change, how far it moves the layer's output: ||y' - y|| / ||y||, in float64.

    The output is y = norm(W x) in training mode, without bias and (all but) eps, at initial
    gain and shift. Running estimates, where a scheme has some, have settled on the data before and after the
    change alike.
    """
    with reproducible():
        subject = make_subject(norm)
        expected = output(subject.copy())
        return {name: distance(changed(subject, change), expected) for name, change in CHANGES.items()}


@torch.no_grad()
def changed(subject: Subject, change: Callable[[Subject], None]) -> Tensor:
    """Return the output after a change, which leaves the subject itself as it was."""
    moved = subject.copy()
    change(moved)
    return output(moved)


@torch.no_grad()
def output(subject: Subject) -> Tensor:
    settle(subject)
    result: Tensor = subject.block(subject.x)
    return result
