"""The loop of one training: runs, estimates, studies and the bench draw their updates from `fit`.

Runs that are stacked draw theirs from `normexp.training.stacked`, many at once. A study that follows a net of its own
from update to update makes each with `descend`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer

from normexp.errors import UserError, never_awaited
from normexp.models.transformer.trunk import Transformer
from normexp.norms.base import one_by_one
from normexp.seeding import seed_all, stream
from normexp.training.batches import Batch
from normexp.training.bfloat16 import bfloat16_in_float32
from normexp.training.checks.unkept_state import check_hook
from normexp.training.compiled import compile_fullgraph
from normexp.training.components import Components, Hyperparameters, name_of, wrong_return
from normexp.training.process import optimizer_step

Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # (x, y) -> (loss, outputs), after one update


class Update(NamedTuple):
    """One update of the weights.

    Args:
        done: updates done so far, this one included.
        loss: of the batch before the update, without the scheme's penalty.
        outputs, targets: of the batch; shapes as `Task` has them.
    """

    done: int
    loss: Tensor
    outputs: Tensor
    targets: Tensor


def fit(
    components: Components, start: int = 0, stop: int | None = None, batches: Iterable[Batch] | None = None
) -> Iterator[Update]:
    """Train: do steps start, ..., stop - 1, and yield after each.

    Dropout and noise draw from torch's global stream. A training that begins at step 0 seeds it, so that it depends on
    the seed alone and not on what ran before in the process; one that continues finds the stream as its checkpoint
    has restored it.

    Args:
        stop: by default the last step of the run.
        batches: of the steps, in place of the run's own.
    """
    if start == 0:
        seed_all(stream(components.seed, "noise"))
    step = make_step(components)
    steps = range(start, components.steps if stop is None else stop)
    for done, (x, y) in zip(steps, components.batches.from_step(start) if batches is None else batches, strict=False):
        set_hyperparameters(components.optimizer, components.schedule(done))
        loss, outputs = step(x, y)
        yield Update(done + 1, loss, outputs, y)


def descend(optimizer: Optimizer, loss: Tensor) -> None:
    """Make one plain update: the gradient of the loss and the optimizer's step, nothing of a scheme or a schedule."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def make_step(components: Components) -> Step:
    """Return the function of one update: forward, backward, clipping, optimizer, the scheme's step hook.

    The penalty is not part of the loss that is returned, but its gradient is clipped with the loss's.
    """
    model, task, optimizer = components.forward, components.task, components.optimizer
    autocast, penalty, clip_norm = components.autocast, components.penalty, components.clip_norm

    def gradient(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        with autocast():
            outputs = model(x)
            loss = task.loss(outputs, y)
            extra = penalty()
        (loss if extra is None else loss + extra).backward()
        return loss.detach(), outputs.detach()

    rounded = autocast is bfloat16_in_float32
    learn = gradient if components.compiled is None else compile_fullgraph(gradient, keeps_rounding=rounded)
    update = optimizer_step(optimizer)
    after = components.after_update or after_update(components)
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


def after_update(components: Components) -> Callable[[], None] | None:
    """Return what the scheme and the network's placement have to do after every update, or None.

    Raises: UserError for a step_hook() that returns no such function.
    """
    model = components.model
    own = model.update_hook() if isinstance(model, Transformer) else None
    after = components.norm.step_hook(model)
    if not (after is None or _takes_nothing(after)):
        raise wrong_return(components.norm, "step_hook", after, "a function without arguments or None")
    if wrong := never_awaited(after):
        raise UserError(f"{name_of(components.norm)}: what its step_hook(model) returns {wrong}")
    if after is not None:
        check_hook(name_of(components.norm), after)
    return one_by_one(after, own)


def _takes_nothing(hook: Callable[[], None]) -> bool:
    """Tell whether something can be called without arguments."""
    try:
        inspect.signature(hook).bind()
    except TypeError:
        return False
    except ValueError:  # of a function that is not written in Python
        return True
    return True


def clip(optimizer: Optimizer, largest: float) -> None:
    """Scale the gradient by min(1, largest / (norm + 1e-6)), the norm being that of all parameters together.

    Where the norm is not finite every gradient becomes NaN, and the next loss tells. By itself the factor would be 0
    for large gradients whose squares overflow: the network would stand still and nothing be said.

    Source: Pascanu, Mikolov & Bengio 2013, arXiv:1211.5063, algorithm 1; the 1e-6 is torch's.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    norm = get_total_norm([p.grad for p in parameters])
    clip_grads_with_norm_(parameters, largest, norm.where(norm.isfinite(), torch.nan))


def set_hyperparameters(optimizer: Optimizer, values: Hyperparameters) -> None:
    """Give every group of the optimizer these values."""
    for group in optimizer.param_groups:
        group.update(values)
