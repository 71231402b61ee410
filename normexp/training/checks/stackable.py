"""Whether runs can be stacked: what they declare, and what comes out when their first step is made both ways."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, RMSprop

from normexp.errors import first_line
from normexp.mersenne import twister_states
from normexp.models.transformer.trunk import Transformer
from normexp.norms.base import Norm
from normexp.probes.base import Probe
from normexp.seeding import random_kept
from normexp.training.components import Components
from normexp.training.fit import after_update
from normexp.training.stacked import Stacked

ELEMENTWISE = (SGD, Adam, AdamW, RMSprop)  # they move every weight by itself, in proportion to the rate
GENERATORS = {"python": "Python's generator", "numpy": "NumPy's generator"}
CLOSE = 1e-2  # of a tensor's norm, between the gradients of a run alone and stacked: far above any rounding


def why_not(runs: Sequence[Components]) -> str | None:
    """Return why runs of one shape cannot be stacked, in a few words; None where they can.

    What they declare is looked at first. Then a copy of them makes its first step both ways, and losses, gradients and
    buffers have to agree: a scheme that keeps something where no stack can see it is found out.

    Args:
        runs: initialized; nothing of them is changed.
    """
    return _declared(runs[0]) or _different_sizes(runs) or _tried(runs)


def _declared(run: Components) -> str | None:
    groups, norm = run.optimizer.param_groups, run.norm
    reasons = {
        "transformers are no faster stacked": isinstance(run.model, Transformer),
        "convolutions are no faster stacked": any(isinstance(m, nn.modules.conv._ConvNd) for m in run.model.modules()),
        "probes look at one network": type(run.probe) is not Probe,
        "clip_norm is of one network": run.clip_norm is not None,
        f"{type(run.optimizer).__name__} does not move every weight by itself": type(run.optimizer) not in ELEMENTWISE
        or len(groups) != 1,
        "the scheme adds to the loss": type(norm).penalty is not Norm.penalty and run.penalty() is not None,
        "the scheme or the network acts after every update": after_update(run) is not None,
        "precision=bf16 is of single runs": not isinstance(run.autocast(), nullcontext),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _different_sizes(runs: Sequence[Components]) -> str | None:
    sizes = {(run.steps, run.eval_every, run.batches.batch_size, len(run.batches.examples)) for run in runs}
    splits = {tuple((name, len(examples)) for name, examples in run.evaluated.items()) for run in runs}
    return None if len(sizes) == len(splits) == 1 else "their data differ in size"


def _tried(runs: Sequence[Components]) -> str | None:
    """Make the first step of copies both ways; say what fails or differs."""
    alone = [copy.deepcopy(run.model) for run in runs]
    copies = [copied(run) for run in runs]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*batching rule.*")  # runs one after the other
            stacked = Stacked(copies)
            x, y = next(stacked.batches())
            with random_kept():
                before = twister_states()
                losses, _ = stacked.gradient(x, y)
                drawn = [name for name, state in twister_states().items() if not torch.equal(state, before[name])]
    except Exception as error:  # whatever a scheme or torch says
        return f"torch.vmap: {first_line(error).removeprefix('vmap: ').split('. ')[0]}"
    if drawn:
        return f"it draws from {GENERATORS[drawn[0]]}, once for all runs"
    for row, (run, model) in enumerate(zip(copies, alone, strict=True)):
        loss = run.task.loss(model(x[row]), y[row])
        loss.backward()
        pairs = {"its loss": (loss, losses[row]), **_gradients(model, stacked, row), **_buffers(model, stacked, row)}
        if different := [name for name, (own, other) in pairs.items() if not _close(own, other)]:
            return f"{different[0]} is not what it is alone"
    return None


def copied(run: Components) -> Components:
    """Return a run with a network and an optimizer of its own; the rest is shared, and nothing compiled."""
    model, optimizer = copy.deepcopy((run.model, run.optimizer))
    return replace(run, model=model, optimizer=optimizer, compiled=None)


def _gradients(model: nn.Module, stacked: Stacked, row: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the gradients of a run, alone and stacked."""
    found = {}
    for name, own in model.named_parameters():
        other = stacked.parameters[name].grad
        if own.grad is not None:
            found[f"the gradient of {name}"] = own.grad, torch.zeros_like(own) if other is None else other[row]
    return found


def _buffers(model: nn.Module, stacked: Stacked, row: int) -> dict[str, tuple[Tensor, Tensor]]:
    return {name: (own, stacked.buffers[name][row]) for name, own in model.named_buffers()}


def _close(own: Tensor, other: Tensor) -> bool:
    norm, difference = (float(each.detach().double().norm()) for each in (own, own - other))
    return difference <= CLOSE * norm or difference < torch.finfo(torch.float32).eps
