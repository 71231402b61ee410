"""Loss and metric: accumulated over training steps, and over the batches of a split."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from normexp.errors import UserError
from normexp.training.batches import Batch
from normexp.training.components import Components
from normexp.training.fit import Update
from normexp.training.task import Task


class MetricAccumulator:
    """What happened in training since the last evaluation; kept on the device, read only when asked.

    Args:
        capacity: most updates between two evaluations.
    """

    def __init__(self, task: Task, capacity: int, device: torch.device) -> None:
        self.task = task
        self.losses = torch.zeros(capacity, device=device)  # one per update
        self.num_correct = torch.zeros((), device=device)
        self.examples = 0
        self.steps = 0

    def add(self, update: Update) -> None:
        """Record one update of `fit`."""
        self.losses[self.steps] = update.loss
        self.num_correct += self.task.num_correct(update.outputs, update.targets)
        self.examples += len(update.targets)
        self.steps += 1

    def last_loss(self) -> float:
        return float(self.losses[self.steps - 1])

    def metrics(self) -> dict[str, float]:
        """Return mean loss and metric over the updates."""
        mean = float(self.losses[: self.steps].double().mean())
        return self.task.metrics(mean, float(self.num_correct) / self.examples)

    def restore(self, losses: Tensor, num_correct: Tensor, batch_size: int) -> None:
        """Put back what `losses[:steps]` and `num_correct` were, after updates of `batch_size` examples."""
        self.steps, self.examples = len(losses), len(losses) * batch_size
        self.losses[: self.steps] = losses
        self.num_correct.copy_(num_correct)

    def first_nonfinite(self) -> int | None:
        """Return the index of the first loss that is not finite, or None."""
        bad = (~torch.isfinite(self.losses[: self.steps])).nonzero()
        return int(bad[0]) if len(bad) else None

    def clear(self) -> None:
        self.losses.zero_()
        self.num_correct.zero_()
        self.steps = self.examples = 0


def build_accumulator(components: Components) -> MetricAccumulator:
    """Return what keeps the losses between two evaluations. Raises UserError where there is no room for them."""
    capacity = min(components.eval_every, components.steps)
    try:
        return MetricAccumulator(components.task, capacity, components.device)
    except RuntimeError:
        why = f"the memory has no room for {capacity:,} losses between two evaluations; give a smaller one"
        raise UserError(f"eval_every={components.eval_every}: {why}") from None


@torch.no_grad()  # not inference_mode: a mask or a table that a network makes here, and keeps, serves training, too
def evaluate(components: Components, batches: Iterable[Batch]) -> dict[str, float]:
    """Return mean loss and metric over all batches, in evaluation mode; leaves the model in training mode."""
    model, task = components.forward, components.task
    model.eval()
    losses, correct, count = [], [], 0
    for x, y in batches:
        with components.autocast():
            outputs = model(x)
        losses.append(task.loss(outputs, y, reduction="sum"))
        correct.append(task.num_correct(outputs, y))
        count += len(y)
    model.train()
    return task.metrics(float(torch.stack(losses).sum()) / count, float(torch.stack(correct).sum()) / count)
