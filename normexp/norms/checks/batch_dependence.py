"""Does one example's output depend on the others, or on what is drawn, and is evaluation what training was?"""

from __future__ import annotations

import torch
from torch import Tensor

from normexp.norms.base import Norm
from normexp.norms.checks.subject import Subject, distance, make_subject, reproducible, settle

SAME = 1e-9  # relative, in float64
BATCHES = 600  # shown before training and evaluation are compared: a momentum of 0.01 has settled too


def depends_on_batch(norm: Norm, *, training: bool) -> bool:
    """Tell whether an example's output changes when all the other examples of its batch change.

    Asked of the first example and of the last, since a scheme may go through its batch in order.
    """
    with reproducible():
        subject = make_subject(norm)
        settle(subject)
        subject.block.train(training)
        other = Subject(subject.block, subject.other_cases())
        expected = outputs(subject)
        return any(moved(other, subject, place, expected) > SAME for place in (0, -1))


def moved(other: Subject, subject: Subject, place: int, expected: Tensor) -> float:
    """Return how far example `place` of the subject moves among the other examples."""
    mixed = other.copy()
    mixed.x[place] = subject.x[place]
    return distance(outputs(mixed)[place], expected[place])


def draws_in_training(norm: Norm) -> bool:
    """Tell whether the outputs for one batch are others at the next call of the same block: the scheme draws them."""
    with reproducible():
        subject = make_subject(norm)
        return not torch.equal(outputs(subject), outputs(subject))


def train_eval_gap(norm: Norm) -> float:
    """Return ||y_train - y_eval|| / ||y_train|| on one batch of 96 examples that both modes see.

    Running estimates, where a scheme has some, have settled on 600 other batches of the same distribution;
    eps and momentum are the scheme's own.
    """
    with reproducible(), torch.no_grad():
        subject = make_subject(norm, exact=False)
        for _ in range(BATCHES if any(True for _ in subject.block.buffers()) else 0):
            subject.block(subject.other_cases())
        training = outputs(subject)
        subject.block.eval()
        return distance(outputs(subject), training)


@torch.no_grad()
def outputs(subject: Subject) -> Tensor:
    """Return the block's outputs and leave its running estimates as they are."""
    trial = subject.copy()
    result: Tensor = trial.block(trial.x)
    return result
