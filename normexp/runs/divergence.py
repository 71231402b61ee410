"""What was not finite first, when a run has diverged: its last steps once more, with every tensor looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any

from torch import Tensor, nn

from normexp.config import Config
from normexp.data.base import Data
from normexp.norms.networks.trial import hooked
from normexp.runs.checkpoint import load_checkpoint
from normexp.training.build import build_model, build_optimizer, initialize_from_data, lay_out
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.process import generators_kept


@generators_kept()  # a stack goes on without the run that has diverged
def first_nonfinite(
    config: Config, data: Data, components: Components, checkpoint: Path, step: int, stopped: Event
) -> str | None:
    """Return which tensor was not finite first, in words; None where a repetition stays finite.

    The run is repeated from its checkpoint, or from the start, to the update before the one whose loss was not finite:
    so much is done twice as a killed run would do. The state of `components` is used no more and not touched.

    Args:
        step: the number of the update whose loss was not finite, counted from 1.
        stopped: ends the search.
    """
    again, start = _rebuilt(config, data, components), 0
    if checkpoint.exists():
        saved = load_checkpoint(checkpoint, again.model, again.optimizer)
        saved.restore(again.model, again.optimizer)
        start = saved.facts["step"]
    else:
        initialize_from_data(again)
    found: list[str] = []
    updates = fit(again, start, step)
    for done in range(start + 1, step + 1):
        if stopped.is_set():
            return None
        if done < step - 1:
            next(updates)
            continue
        with _watched(again.model, found, done):
            next(updates)
        found += nonfinite_weights(again.model, done)
        if found:
            return found[0]
    return None


def _rebuilt(config: Config, data: Data, components: Components) -> Components:
    """Return the components with a network and an optimizer as they are before a run."""
    model = build_model(config, components.norm, data.input_shape, data.num_outputs)
    lay_out(model.to(components.device))
    optimizer = build_optimizer(config, model, components.device)
    return replace(components, model=model, optimizer=optimizer, compiled=None)


@contextmanager
def _watched(model: nn.Module, found: list[str], step: int) -> Iterator[None]:
    """Note every output of a layer and every gradient of a parameter that is not finite, in the order of computing."""

    def note(what: str) -> Callable[..., None]:
        def look(*given: Any) -> None:
            if isinstance(given[-1], Tensor) and not given[-1].isfinite().all():
                found.append(f"{what} in step {step}")

        return look

    layers = [(name, module) for name, module in model.named_modules() if not any(True for _ in module.children())]
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    outputs = (module.register_forward_hook(note(f"the output of {name}")) for name, module in layers)
    gradients = (parameter.register_hook(note(f"the gradient of {name}")) for name, parameter in trained)
    with hooked(chain(outputs, gradients)):
        yield


def nonfinite_weights(model: nn.Module, step: int) -> list[str]:
    """Return in words which parameters are not finite after a step."""
    named = model.named_parameters()
    return [f"the weights {name} after step {step}" for name, each in named if not each.detach().isfinite().all()]
