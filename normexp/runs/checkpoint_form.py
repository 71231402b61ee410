"""What the entries of a checkpoint must be for a network and its optimizer, before anything is restored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.mersenne import NAMES, check_twister
from normexp.runs.optimizer_state import kinds_by_parameter, late_kind, own_name
from normexp.training.checks.unkept_state import type_and_shape

PARTS = ("model", "optimizer", "window", "random")
RANDOM = ("cpu", "cuda", *NAMES)


def check_entries(tensors: Mapping[str, Tensor], model: nn.Module, optimizer: Optimizer) -> None:
    """Raise ValueError for an entry that is unknown, missing, or of another type or shape than it has to be."""
    parts: dict[str, dict[str, Tensor]] = {part: {} for part in PARTS}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        if part not in PARTS:
            raise ValueError(f"{name} is unknown")
        parts[part][rest] = tensor
    _check_model(parts["model"], model.state_dict())
    _check_optimizer(parts["optimizer"], optimizer)
    _check_random(parts["random"])


def check_facts(facts: Mapping[str, Any], window: Mapping[str, Tensor], steps: int, capacity: int) -> None:
    """Raise ValueError where what is told of a run of `steps` updates cannot be.

    Args:
        window: the losses since the last evaluation, at most `capacity`, and the number of correct answers.
    """
    step, last, threads = facts.get("step"), facts.get("last_loss", "missing"), facts.get("threads", 1)
    if not isinstance(step, int) or not 0 <= step <= steps:
        raise ValueError(f"its step is {step!r}, the run has {steps}")
    if last is not None and (not isinstance(last, float) or not math.isfinite(last)):
        raise ValueError(f"its last loss is {last!r}")
    if not isinstance(threads, int) or not 1 <= threads <= 4096:
        raise ValueError(f"its number of threads is {threads!r}")
    if not isinstance(facts.get("data"), str):
        raise ValueError("it does not tell its data")
    losses, hits = window.get("losses"), window.get("hits")
    if losses is None or losses.ndim != 1 or len(losses) > min(capacity, step) or not losses.is_floating_point():
        raise ValueError("its losses since the last evaluation are missing or too many")
    if hits is None or hits.ndim != 0:
        raise ValueError("its number of correct answers is missing or none")
    curves = facts.get("curves", {})
    if not isinstance(curves, dict) or not all(map(_is_digest, curves.values())):
        raise ValueError("what it knows of the curves is no size and checksum")


def _is_digest(known: Any) -> bool:
    return isinstance(known, list) and [type(part) for part in known] == [int, str]


def _check_model(saved: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    if odd := sorted(saved.keys() ^ wanted.keys()):
        raise ValueError(f"{odd[0]} is {'unknown' if odd[0] in saved else 'missing'}")
    for name, tensor in wanted.items():
        if (saved[name].shape, saved[name].dtype) != (tensor.shape, tensor.dtype):
            raise ValueError(f"{name} is {type_and_shape(saved[name])}, the network has {type_and_shape(tensor)}")


def _check_optimizer(saved: Mapping[str, Tensor], optimizer: Optimizer) -> None:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    wanted, found = kinds_by_parameter(optimizer), dict[int, set[str]]()
    own = own_name(optimizer) is not None  # which may make more of its state in a later step
    for name, tensor in saved.items():
        index, _, key = name.partition("/")
        if not index.isdecimal() or int(index) >= len(parameters) or not (own or key in wanted[int(index)]):
            raise ValueError(f"optimizer/{name} is unknown")
        parameter = parameters[int(index)]
        shapes = (parameter.shape, wanted[int(index)].get(key, late_kind(tensor)).shape)
        if tensor.numel() != 1 and tensor.shape not in shapes:
            what = f"{type_and_shape(tensor)}, its parameter {type_and_shape(parameter)}"
            raise ValueError(f"optimizer/{name} is {what}")
        found.setdefault(int(index), set()).add(key)
    if any(wanted) and not found:
        raise ValueError("the optimizer's state is missing")
    for place, keys in found.items():
        if missing := wanted[place].keys() - keys:
            raise ValueError(f"optimizer/{place}/{min(missing)} is missing")


def _check_random(saved: Mapping[str, Tensor]) -> None:
    if "cpu" not in saved or not set(saved) <= set(RANDOM):
        raise ValueError("its random states are missing or unknown")
    if type_and_shape(saved["cpu"]) != type_and_shape(torch.get_rng_state()):
        raise ValueError(f"random/cpu is {type_and_shape(saved['cpu'])}")
    for name in NAMES:
        if name in saved:  # older versions did not keep it
            check_twister(name, saved[name])
