"""The learning rate that a scale-invariant weight really has."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.probes.base import Probe, Reading, Situation
from normexp.probes.layers import free_weights
from normexp.probes.scale_free import TOLERANCE, Usual, noticed


@dataclass(frozen=True, kw_only=True)
class EffectiveRate(Probe):
    """rate / ||w||^2 of every weight whose size the network does not notice.

    `output_change` says of every Linear and Conv weight (v under weight normalization) by how much the network's
    outputs in training mode change when that weight is doubled, ||y' - y|| / ||y||. Where this is below
    `tolerance`, the outputs notice the weight's direction and its gradient at twice the length is half (it is not in
    front of what is saturated), it counts as scale-invariant and has two more rows:
    `squared_norm`, which is ||w||^2, and `effective_rate`. The learning rate is that of the next step.

    Args:
        count: number of training examples, the same at every evaluation, as one batch.
        tolerance: largest change that an eps may cause.

    A scheme that uses running estimates in training (batch renormalization beyond its warm-up, online
    normalization) notices a doubled weight until the estimates have followed, so its weights have no such rows.

    Source: van Laarhoven 2017, arXiv:1706.05350. That the effective rate of gradient descent is rate / ||w||^2, and
    that of Adam rate / ||w||, follows from invariance to scale: a gradient is as small as its weight is large.
    """

    count: int = 64
    tolerance: float = TOLERANCE

    def measure(self, situation: Situation) -> list[Reading]:
        model, (x, _) = situation.model, situation.training(self.count)
        free = free_weights(model)
        usual, readings = Usual(model, x, free), []
        for name, weight in free.items():
            seen = noticed(usual, name, self.tolerance)
            readings.append((name, "output_change", seen.scale))
            if seen.is_scale_invariant:
                square = float(weight.units.square().sum())
                readings += [(name, "squared_norm", square), (name, "effective_rate", situation.rate / square)]
        return readings
