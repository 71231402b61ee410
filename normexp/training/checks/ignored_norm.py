"""A scheme that has no part in the network: under its name a run trains what `norm=none` trains."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from normexp.config import Config
from normexp.data.base import Data
from normexp.norms.base import Norm, is_own
from normexp.norms.networks.effect import normalizes, parametrizes
from normexp.training.build import build_model
from normexp.training.components import Components
from normexp.training.network import make_model

OF_THE_MODEL = ("initialize", "before_evaluation", "penalty", "step_hook")  # hooks that no network has to call


def ignored_norm(config: Config, components: Components, data: Data) -> str:
    """Say in one line that the scheme changes nothing, with a way out; empty where it has a part in the network.

    Args:
        components: as they are built, before anything is initialized from data.
    """
    if config.choices["norm"] == "none" or not _does_nothing(config, components, data):
        return ""
    norm, model = config.choices["norm"], config.choices["model"]
    way_out = _way_out(config, components.norm)
    return f"norm={norm} changes nothing in model={model}: what is trained is norm=none{way_out}"


def _does_nothing(config: Config, components: Components, data: Data) -> bool:
    norm, model = components.norm, components.model
    if is_own(type(norm)) and any(getattr(type(norm), hook) is not getattr(Norm, hook) for hook in OF_THE_MODEL):
        return False  # what it does to the network is its own business
    if norm.penalty(model) is not None or norm.step_hook(model) is not None:
        return False
    sizes = (data.input_shape, data.num_outputs)
    weights = torch.device("cpu" if "." in config.choices["model"] or config["model"].get("weights") else "meta")
    try:
        with weights:  # where nobody reads them, none are made: drawing those of a large network takes seconds
            without = make_model(config, Norm(), *sizes)
        if _described(model) != _described(without):
            return False
        return _equal(model.state_dict(), build_model(config, Norm(), *sizes).state_dict())
    except Exception:  # somebody's own network that cannot be without a scheme
        return False


def _described(model: nn.Module) -> tuple[str, list[int]]:
    """Return the modules of a network in words, and how many hooks each has: what it computes, but for its weights."""
    return repr(model), [len(each._forward_hooks) + len(each._forward_pre_hooks) for each in model.modules()]


def _equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(value.cpu(), second[name].cpu()) if isinstance(value, torch.Tensor) else value == second[name]
        for name, value in first.items()
    )


def _way_out(config: Config, norm: Norm) -> str:
    if config.choices["norm"] == "stack" and config["norm"]["weights"] == config["norm"]["activations"]:
        return "; name its parts: norm.weights=weight_standard norm.activations=group"
    if config["model"].get("normalize_output") is False and (normalizes(norm) or parametrizes(norm)):
        return "; model.normalize_output=true gives it the output layer, too"
    own = "a network of your own takes it by a parameter `norm` and norm.block(layer, activation)"
    return f"; {own}" if "." in config.choices["model"] else ""
