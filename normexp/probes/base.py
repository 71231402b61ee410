"""The contract of a probe. The base class measures nothing and is itself `probe=none`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.config.text import shortened
from normexp.errors import UserError
from normexp.norms.networks.trial import left_as_found, state_kept, watched
from normexp.seeding import seed_all, stream

Batch = tuple[Tensor, Tensor]
Reading = tuple[str, str, float]  # (layer, statistic, value)
Row = tuple[str, str, str, float]  # (probe, layer, statistic, value)


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What a probe may look at: the network at one evaluation, and examples that are the same at every one.

    Args:
        model: the network; a probe leaves it as it found it.
        test: count -> (x, y), the first test examples (all, if there are fewer).
        training: count -> (x, y), the first training examples of the first epoch's order, unaugmented.
        loss: (outputs, y) -> the task's mean loss, without penalty and weight decay.
        rate: the learning rate of the next step.
        optimizer: the run's own; a probe leaves it as it found it. None where nothing is trained.
    """

    model: nn.Module
    test: Callable[[int], Batch]
    training: Callable[[int], Batch]
    loss: Callable[[Tensor, Tensor], Tensor]
    rate: float
    optimizer: Optimizer | None = None


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Measures nothing."""

    def measure(self, situation: Situation) -> list[Reading]:
        """Return readings on the network as it is now, and change nothing in it."""
        return []

    def rows(self, name: str, situation: Situation) -> list[Row]:
        """Return the readings as rows of probes.csv, under the probe's name. Raises UserError for what is none."""
        with self._harmless(situation.model):
            readings: object = self.measure(situation)
            if not isinstance(readings, Iterable):
                shown = shortened(repr(readings))
                raise UserError(f"probe={name}: measured {shown}; it returns a list of (layer, statistic, number)")
            return [(name, *_checked(name, reading)) for reading in readings]

    def _harmless(self, model: nn.Module) -> AbstractContextManager[None]:
        """Let a probe of the user's own, which may put the network into evaluation mode for good, change no run."""
        own = not type(self).__module__.startswith("normexp.")
        return left_as_found(model, next(model.parameters()).device) if own else nullcontext()


def _checked(name: str, reading: Any) -> Reading:
    """Return a reading of somebody's own probe as it is written: a tensor of one number as the number."""
    try:
        layer, statistic, value = reading
        value = value.detach() if isinstance(value, Tensor) else value  # or torch warns of its gradient
        return layer, statistic, int(value) if isinstance(value, int) else float(value)
    except (TypeError, ValueError, RuntimeError):
        shown = shortened(repr(reading))
        raise UserError(f"probe={name}: measured {shown}; a reading is (layer, statistic, number)") from None


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Switch to evaluation mode without gradients, and back: a measurement must not change the run.

    A network may write into itself there, too, as an Embedding with `max_norm` does: all of it is put back.
    """
    with state_kept(model), torch.no_grad():
        model.eval()
        yield


@contextmanager
def training_mode(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Switch to training mode, with the same noise every time; put buffers, modes and random states back."""
    with left_as_found(model, device):
        seed_all(stream(0, "probe"))
        model.train()
        yield


def inputs_of(
    model: nn.Module, modules: Mapping[str, nn.Module], x: Tensor, training: bool = False
) -> dict[str, Tensor]:
    """Return what enters each named module, at its first call, when x passes in evaluation (or training) mode."""
    seen: dict[str, Tensor] = {}

    def keep(name: str, entering: Tensor) -> None:
        # A module that works in place would overwrite what it was given.
        seen.setdefault(name, (entering.clone() if getattr(modules[name], "inplace", False) else entering).detach())

    mode = training_mode(model, x.device) if training else evaluation_mode(model)
    with watched(modules, keep), mode, torch.no_grad():
        model(x)
    return seen
