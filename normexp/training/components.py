"""All that training needs, as one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.errors import UserError, kind_of
from normexp.models.init.base import Init
from normexp.norms.base import Norm
from normexp.probes.base import Probe
from normexp.seeding import seeded
from normexp.training.batches import Examples, TrainingBatches
from normexp.training.task import Task

Hyperparameters = Mapping[str, Any]  # of the optimizer's groups, in torch's words: lr, betas


def _no_change(step: int) -> Hyperparameters:
    return {}


@dataclass(frozen=True)
class Components:
    """The parts of a run, on the device and ready.

    Args:
        batches: the training split.
        steps: number of updates of the whole run.
        seed: of the run; every random stream is derived from it.
        schedule: step -> the optimizer's learning rate there, and its betas where the schedule sets them.
        evaluated: the splits to evaluate, by name (validation only where there is one).
        eval_every: steps between evaluations.
        threads: CPU threads that the run asks for; who computes sets them (`normexp.training.process`).
        compiled: what `torch.compile` made of the model; None where nothing is compiled.
        after_update: called after every update, in place of the scheme's own step hook.
        clip_norm: largest norm of the whole gradient; None leaves it as it is.
    """

    model: nn.Module
    task: Task
    optimizer: Optimizer
    batches: TrainingBatches
    steps: int
    seed: int = 0
    schedule: Callable[[int], Hyperparameters] = _no_change
    evaluated: dict[str, Examples] = field(default_factory=dict)
    eval_every: int = 1
    norm: Norm = Norm()  # noqa: RUF009  frozen, and without state
    init: Init = Init()  # noqa: RUF009
    probe: Probe = Probe()  # noqa: RUF009
    device: torch.device = torch.device("cpu")  # noqa: RUF009
    threads: int = 1
    compiled: nn.Module | None = None
    after_update: Callable[[], None] | None = None
    autocast: Callable[[], AbstractContextManager[object]] = nullcontext
    clip_norm: float | None = None

    @property
    def forward(self) -> nn.Module:
        """The model as it is called: its compiled form where there is one."""
        return self.model if self.compiled is None else self.compiled

    def lr(self, step: int) -> float:
        """Return the learning rate of a step."""
        return float(self.schedule(step)["lr"])

    def penalty(self) -> Tensor | None:
        """Return what the scheme adds to the loss, or None. Raises UserError where that is no scalar."""
        added = self.norm.penalty(self.model)
        is_scalar = isinstance(added, Tensor) and added.numel() == 1
        if not (is_scalar or isinstance(added, int | float | None)):
            raise wrong_return(self.norm, "penalty", added, "a scalar tensor or None")
        return added

    def before_evaluation(self) -> None:
        """Let the scheme set what evaluation needs from training inputs; called before every evaluation."""
        with self.autocast(), seeded(self.seed, "before evaluation"):
            self.norm.before_evaluation(self.model, lambda count: self.batches.first(count)[0])


def wrong_return(norm: Norm, hook: str, returned: object, allowed: str) -> UserError:
    """Build the one-line error for what a hook of a scheme of the user's own returns."""
    kind = f"shape {tuple(returned.shape)}" if isinstance(returned, Tensor) else kind_of(returned)
    return UserError(f"{name_of(norm)}: its {hook}(model) returns {kind}, and must return {allowed}")


def name_of(norm: Norm) -> str:
    """Return a scheme's class as a configuration names it."""
    return f"{type(norm).__module__}.{type(norm).__name__}"
