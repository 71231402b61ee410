"""The training loop: plain functions over tensors. Nothing here knows a config, a file or a scheme."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer

from normexp.training.compiled import in_one_graph

Batch = tuple[Tensor, Tensor]
Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # (x, y) -> (loss, outputs), after one update
Settings = Mapping[str, Any]  # of the optimizer's groups, in torch's words: lr, betas
Watch = Callable[[int], bool]  # called with the number of steps done; True stops


@dataclass(frozen=True)
class Task:
    """What is learned: how outputs become a loss, and a loss becomes the score that people read.

    Args:
        score: `accuracy` (fraction of hits) or `rmse` (root mean squared error, in the target's own units).
        scale: factor from the trained target to its own units (regression).
    """

    score: str
    scale: float = 1.0

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        """Cross-entropy in nats, or squared error averaged over targets; mean or sum over examples."""
        if self.score == "accuracy":
            return F.cross_entropy(outputs.float(), y, reduction=reduction)
        error = (outputs.float() - y).square().mean(1)
        return error.mean() if reduction == "mean" else error.sum()

    def hits(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return how many examples are classified rightly, as a tensor (0 for regression)."""
        return (outputs.argmax(1) == y).sum() if self.score == "accuracy" else outputs.new_zeros(())

    def measures(self, loss: float, hit_rate: float) -> dict[str, float]:
        """Return {loss, score} from the mean loss and the fraction of hits."""
        score = hit_rate if self.score == "accuracy" else self.scale * max(loss, 0.0) ** 0.5
        return {"loss": loss, self.score: score}


@dataclass
class Window:
    """What happened in training since the last evaluation; kept on the device, read only when asked.

    Args:
        losses: one loss per step, room for the whole window.
        hits: number of hits so far.
        steps: number of losses recorded.
    """

    losses: Tensor
    hits: Tensor
    steps: int = 0

    @classmethod
    def of(cls, capacity: int, device: torch.device) -> Window:
        return cls(torch.zeros(capacity, device=device), torch.zeros((), device=device))

    def record(self, loss: Tensor, hits: Tensor) -> None:
        self.losses[self.steps] = loss.detach()
        self.hits += hits
        self.steps += 1

    def last_loss(self) -> float:
        return float(self.losses[self.steps - 1])

    def measures(self, task: Task, batch_size: int) -> dict[str, float]:
        """Return mean loss and score over the window's steps."""
        mean = float(self.losses[: self.steps].double().mean())
        return task.measures(mean, float(self.hits) / (self.steps * batch_size))

    def restore(self, losses: Tensor, hits: Tensor) -> None:
        """Put back what `losses[:steps]` and `hits` were."""
        self.steps = len(losses)
        self.losses[: self.steps] = losses
        self.hits.copy_(hits)

    def first_nonfinite(self) -> int | None:
        """Return the place of the first loss that is not finite, or None."""
        bad = (~torch.isfinite(self.losses[: self.steps])).nonzero()
        return int(bad[0]) if len(bad) else None

    def clear(self) -> None:
        self.losses.zero_()
        self.hits.zero_()
        self.steps = 0


def make_step(
    model: nn.Module,
    task: Task,
    optimizer: Optimizer,
    autocast: Callable[[], AbstractContextManager[object]],
    penalty: Callable[[], Tensor | None],
    after: Callable[[], None] | None = None,
    clip_norm: float | None = None,
    compiled: bool = False,
) -> Step:
    """Return the function of one update: forward, backward, clipping, optimizer, `after`.

    The penalty is not part of the loss that is returned, but its gradient is clipped with the loss's.

    Args:
        compiled: compile forward and backward together, where that can be.
    """

    def gradient(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        with autocast():
            outputs = model(x)
            loss = task.loss(outputs, y)
            extra = penalty()
        (loss if extra is None else loss + extra).backward()
        return loss.detach(), outputs.detach()

    learn = in_one_graph(gradient) if compiled else gradient
    update = update_of(optimizer)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        for parameter in parameters:
            parameter.grad = None  # what zero_grad does, whose wrappers take a fifth of a tiny network's step
        loss, outputs = learn(x, y)
        if clip_norm is not None:
            clip(optimizer, clip_norm)
        update()
        if after is not None:
            after()
        return loss, outputs

    return step


def update_of(optimizer: Optimizer) -> Callable[[], object]:
    """Return the optimizer's `step` without torch's wrappers around it.

    They run hooks and a profiler's record that nobody has asked for, and import torch's compiler at their first call,
    which takes as long as the import of all of torch.
    """
    bare = inspect.unwrap(type(optimizer).step)

    def update() -> object:
        with torch.no_grad():
            return bare(optimizer)

    return update


def clip(optimizer: Optimizer, largest: float) -> None:
    """Scale the gradient by min(1, largest / (norm + 1e-6)), the norm being that of all parameters together.

    Where the norm is not finite every gradient becomes NaN, and the next loss tells. By itself the factor would be 0
    for large gradients whose squares overflow: the network would stand still and nothing be said.

    Source: Pascanu, Mikolov & Bengio 2013, arXiv:1211.5063, algorithm 1; the 1e-6 is torch's.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    norm = get_total_norm([p.grad for p in parameters])
    clip_grads_with_norm_(parameters, largest, norm.where(norm.isfinite(), torch.nan))


def train(
    step: Step,
    task: Task,
    batches: Iterable[Batch],
    window: Window,
    optimizer: Optimizer,
    settings: Callable[[int], Settings],
    start: int,
    stop: int,
    watch: Watch,
) -> int:
    """Run steps start, ..., stop - 1 and return the number of steps done in all (less if `watch` says stop)."""
    for done, (x, y) in zip(range(start, stop), batches, strict=False):
        set_groups(optimizer, settings(done))
        loss, outputs = step(x, y)
        window.record(loss, task.hits(outputs, y))
        if watch(done + 1):
            return done + 1
    return stop


def set_groups(optimizer: Optimizer, settings: Settings) -> None:
    for group in optimizer.param_groups:
        group.update(settings)


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    task: Task,
    batches: Iterable[Batch],
    autocast: Callable[[], AbstractContextManager[object]],
) -> dict[str, float]:
    """Return mean loss and score over all batches, in evaluation mode; leaves the model in training mode."""
    model.eval()
    losses, hits, count = [], [], 0
    for x, y in batches:
        with autocast():
            outputs = model(x)
        losses.append(task.loss(outputs, y, reduction="sum"))
        hits.append(task.hits(outputs, y))
        count += len(y)
    model.train()
    return task.measures(float(torch.stack(losses).sum()) / count, float(torch.stack(hits).sum()) / count)
