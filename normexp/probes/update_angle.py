"""The angle between a weight and its update, and how much the update lengthens the weight."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.probes.base import Probe, Reading, Situation
from normexp.probes.gradients import loss_gradients
from normexp.probes.layers import free_weights


@dataclass(frozen=True, kw_only=True)
class UpdateAngle(Probe):
    """What one step of plain gradient descent on fixed examples would do to every Linear and Conv weight.

    With w the weight that the optimizer moves (v under weight normalization), g the gradient of the loss and
    dw = -rate g, in float64 from the float32 gradient:

    - `cosine`: of the angle between w and dw as vectors of all entries; 0 where the loss does not depend on ||w||;
    - `unit_cosine`: the largest |cosine| of one output unit's part of w and dw;
    - `relative_step`: c = ||dw|| / ||w||;
    - `growth`: ||w + dw|| / ||w||;
    - `growth_if_orthogonal`: sqrt(1 + c^2).

    No step is made, and momentum, weight decay, penalties and what Adam does to the gradient are left out: the
    numbers are about the loss and the learning rate that is due, not about the run's own update.

    Args:
        count: number of training examples, the same at every evaluation, as one batch in training mode.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 2: under weight normalization dv is orthogonal to
    v, so that plain gradient descent makes ||v_new|| = sqrt(1 + c^2) ||v||.
    """

    count: int = 256

    def measure(self, situation: Situation) -> list[Reading]:
        gradients = loss_gradients(situation, self.count)
        return [
            (name, statistic, float(value))
            for name, weight in free_weights(situation.model).items()
            if name in gradients
            for statistic, value in step(weight.units, weight.rows(gradients[name]), situation.rate).items()
        ]


def step(w: Tensor, gradient: Tensor, rate: float) -> dict[str, Tensor]:
    """Return the statistics of w -> w - rate gradient, both (units, inputs)."""
    relative = rate * gradient.norm() / w.norm()
    return {
        "cosine": cosine(w.flatten(), -gradient.flatten()),
        "unit_cosine": cosine(w, gradient).abs().max(),
        "relative_step": relative,
        "growth": (w - rate * gradient).norm() / w.norm(),
        "growth_if_orthogonal": (1 + relative.square()).sqrt(),
    }


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Return the cosine over the last dimension; 0 where one of the two is 0, as at a unit without gradient."""
    sizes = torch.linalg.vector_norm(a, dim=-1) * torch.linalg.vector_norm(b, dim=-1)
    return torch.where(sizes == 0, 0.0, (a * b).sum(-1) / sizes)
