"""A network is tried on a copy before a run begins: what cannot work is said then, before anything is written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from normexp.config import Config
from normexp.config.instantiate import has_own
from normexp.config.text import amount
from normexp.data.base import Data
from normexp.errors import first_line, kind_and_line, kind_of, whose_memory
from normexp.seeding import seeded
from normexp.training.checks.fitting import fitting
from normexp.training.checks.forms import forms_kept
from normexp.training.checks.order import check_order
from normexp.training.checks.own_part import name_own_part
from normexp.training.checks.unkept_state import check_computed, check_state

Autocast = Callable[[], AbstractContextManager[object]]
TRIAL_EXAMPLES = 32  # enough for most schemes, few enough to take no time


def check_shapes(config: Config, model: nn.Module, data: Data) -> None:
    """Run a copy of the network on a few zero images: what cannot work is said now, before anything is written."""
    way_out = "; model.normalize_output=false may help" if config["model"].get("normalize_output") else ""
    if (rows := len(data.train)) < config["batch_size"]:
        way_out += f"; only {amount(rows, 'example')} of the data {'are' if rows > 1 else 'is'} trained on"
    own = has_own(config, "model", "dataset")
    shape = f"; an example has shape {data.input_shape}"
    with fitting(config, way_out, shape), torch.set_grad_enabled(own), seeded(config["seed"], "trial"):
        check_computed(model)
        trial = copy.deepcopy(model)
        with forms_kept(trial):
            batch, outputs = _tried(trial, data.input_shape, trial_examples(config, data), _batch_size(config, data))
        if own:
            expected = (len(batch), *([data.positions] if data.task == "language" else []), data.num_outputs)
            check_outputs(outputs, expected, trains=True)
        if own or has_own(config, "norm"):
            check_state(model, trial, batch)
            check_order(trial, data)
        if own:
            check_outputs(_evaluated(trial, batch), expected, trains=False)


def check_update(config: Config, model: nn.Module, data: Data, device: torch.device, autocast: Autocast) -> None:
    """Pass a few zero images through a copy on the run's device and in its precision, a gradient back, and evaluate.

    Of a part of the user's own, which may take float32 alone, or have a backward pass that fails.
    """
    if not has_own(config, "model", "norm"):
        return
    shape = f"; an example has shape {data.input_shape}"
    with fitting(config, shape=shape), torch.enable_grad(), seeded(config["seed"], "trial"):
        trial = copy.deepcopy(model)
        try:
            with autocast():
                few, most = trial_examples(config, data), _batch_size(config, data)
                batch, outputs = _tried(trial, data.input_shape, few, most, device)
            outputs.float().sum().backward()
            with autocast():
                _evaluated(trial, batch)
        except Exception as error:
            if whose_memory(error):
                raise
            name_own_part(error, config)
            raise RuntimeError(f"with precision={config['precision']}: {kind_and_line(error)}") from error


def trial_examples(config: Config, data: Data) -> int:
    """Return with how many examples a network is tried: a few, and no more than a batch has."""
    return min(TRIAL_EXAMPLES, _batch_size(config, data))


def _batch_size(config: Config, data: Data) -> int:
    return min(int(config["batch_size"]), len(data.train))


def _tried(
    model: nn.Module, shape: tuple[int, ...], few: int, most: int, device: torch.device | None = None
) -> tuple[Tensor, Any]:
    """Return a few examples, and what the network makes of them; a whole batch where few are not enough for a scheme.

    Args:
        most: examples of a batch.
    """
    batch = torch.zeros(few, *shape, device=device)
    try:
        return batch, model(batch)
    except ValueError:  # whitening needs more of them than channels
        batch = torch.zeros(most, *shape, device=device)
        return batch, model(batch)


@torch.no_grad()
def _evaluated(model: nn.Module, batch: Tensor) -> object:
    """Return outputs as an evaluation takes them; what asks for a gradient there fails."""
    try:
        return model.eval()(batch)
    except RuntimeError as error:
        raise RuntimeError(f"in evaluation, which has no gradients: {first_line(error)}") from error


def check_outputs(outputs: object, expected: tuple[int, ...], trains: bool) -> None:
    """Raise ValueError for what somebody's network may return in place of what a loss is computed of.

    Outputs (N,) beside targets (N, 1) would be broadcast to (N, N), and trained without a word.
    """
    if not isinstance(outputs, Tensor):
        raise ValueError(f"the network returns a {kind_of(outputs)}, not a tensor of shape {expected}")
    if outputs.shape != expected:
        raise ValueError(f"the network's outputs have shape {tuple(outputs.shape)}, they must have {expected}")
    if not outputs.is_floating_point():
        raise ValueError(f"the network's outputs are {outputs.dtype}, and must be real numbers (torch.float32)")
    if trains and not outputs.requires_grad:
        raise ValueError("no parameter that is trained has a part in the network's outputs")
