"""A network under a part of the user's own that trains, but not as anybody means it to: said when a run begins."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from normexp.config import Config
from normexp.config.instantiate import has_own
from normexp.config.text import amount
from normexp.data.base import Data
from normexp.seeding import seeded
from normexp.training.checks.trial import trial_examples
from normexp.training.components import Components

APART = 1e-3  # relative: far more than rounding


def without_gradient(config: Config, components: Components, data: Data) -> str:
    """Say in one line that the loss does not reach parameters, as where outputs are detached; else nothing."""
    if not has_own(config, "model", "norm"):
        return ""
    try:
        model = copy.deepcopy(components.model).train()
        with torch.enable_grad(), seeded(config["seed"], "trial"):
            outputs, penalty = model(_inputs(config, components, data)), components.norm.penalty(model)
            (outputs.float().sum() + (0 if penalty is None else penalty)).backward()
    except Exception:  # own code: what is wrong with it is refused elsewhere, and a remark must not end a run
        return ""
    # In a copy of what torch.jit compiled they are computed from others, and no gradient is kept for them.
    trained = {name: each for name, each in model.named_parameters() if each.requires_grad and each.is_leaf}
    missed = [name for name, each in trained.items() if each.grad is None]
    if not missed:
        return ""
    chosen = config.chosen("model", "norm")
    first = ", ".join(missed[:2]) + ", ..." * (len(missed) > 2)
    return f"{chosen}: no gradient reaches {len(missed)} of {amount(len(trained), 'parameter')} ({first})"


def mixes_in_evaluation(config: Config, components: Components, data: Data) -> str:
    """Say in one line that in evaluation an example's outputs depend on the others of its batch; else nothing."""
    if not has_own(config, "model", "norm"):
        return ""
    try:
        model, inputs = copy.deepcopy(components.model).eval(), _inputs(config, components, data)
        first, second = (_first_of(model, each, config["seed"]) for each in (inputs, _other(inputs)))
    except Exception:  # as above; or before_evaluation() has not been called yet
        return ""
    largest = float(first.nan_to_num().abs().max())
    if torch.allclose(first, second, rtol=APART, atol=APART * largest, equal_nan=True):
        return ""
    chosen = config.chosen("model", "norm")
    told = "in evaluation an example's outputs depend on the others of its batch"
    return f"{chosen}: {told}: its scores change with the size and the order of batches"


def _first_of(model: nn.Module, inputs: Tensor, seed: int) -> Tensor:
    """Return what the model makes of the first example."""
    with torch.no_grad(), seeded(seed, "trial"):
        outputs: Tensor = model(inputs)
    return outputs[0].float()


def _inputs(config: Config, components: Components, data: Data) -> Tensor:
    """Return a few examples of zeros and ones, which may be pixels or tokens."""
    with seeded(config["seed"], "trial"):
        return torch.randint(2, (trial_examples(config, data), *data.input_shape)).float().to(components.device)


def _other(inputs: Tensor) -> Tensor:
    """Return inputs of which the first example alone is the same."""
    return torch.cat([inputs[:1], 1 - inputs[:-1]])
