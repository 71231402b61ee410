"""What a probe may look at, in a run and beforehand."""

from __future__ import annotations

import torch

from normexp.probes.base import Situation
from normexp.training.components import Components


def situation(components: Components, step: int) -> Situation:
    """Return it after some steps: the network itself, whose compiled form would not run the hooks."""
    test = components.evaluated["test"]
    return Situation(
        model=components.model,
        test=lambda count: test.take(torch.arange(min(count, len(test)), device=components.device)),
        training=components.batches.first,
        loss=components.task.loss,
        rate=components.lr(step),
        optimizer=components.optimizer,
    )
