"""How large the gradient of the loss is, parameter by parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch.linalg import vector_norm

from normexp.probes.base import Probe, Reading, Situation
from normexp.probes.gradients import loss_gradients


@dataclass(frozen=True, kw_only=True)
class GradientNorm(Probe):
    """Euclidean norm (`gradient_norm`) of the loss gradient of every parameter, and of all together (`network`).

    Args:
        count: number of training examples, the same at every evaluation, as one batch.

    In training mode: batch statistics are those of this batch. The loss is the task's mean loss, without
    penalty and weight decay.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, section 3.3: a layer whose weights are c times as large gets
    1/c of the gradient.
    """

    count: int = 256

    def measure(self, situation: Situation) -> list[Reading]:
        gradients = loss_gradients(situation, self.count)
        norms = {name: float(vector_norm(gradient)) for name, gradient in gradients.items()}
        norms["network"] = math.hypot(*norms.values())
        return [(name, "gradient_norm", norm) for name, norm in norms.items()]
