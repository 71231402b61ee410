"""What a probe may look at, in a run and beforehand."""

from __future__ import annotations

from normexp.probes.base import Situation
from normexp.training.components import Components


def situation(components: Components, step: int) -> Situation:
    """Return it after some steps: the network itself, whose compiled form would not run the hooks."""
    return Situation(
        model=components.model,
        test=components.evaluated["test"].first,
        training=components.batches.first,
        loss=components.task.loss,
        rate=components.lr(step),
        optimizer=components.optimizer,
    )
