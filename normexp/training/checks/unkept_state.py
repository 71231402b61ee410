"""State of a network, or of a scheme of the user's own, that is not trained or that no checkpoint keeps."""

from __future__ import annotations

import dis
import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import CodeType

import torch
from torch import Tensor, nn
from torch.nn.utils.weight_norm import WeightNorm

from normexp.errors import UserError
from normexp.seeding import random_kept

KEPT = "a checkpoint keeps parameters and persistent buffers alone, without which a run could not be continued"
OF_TORCH = vars(nn.Module())  # attributes that every module has


def check_state(model: nn.Module, trial: nn.Module, batch: Tensor) -> None:
    """Raise ValueError for state that is not trained, or that no checkpoint keeps.

    Args:
        trial: a copy that was called once, and is called twice more here with the same inputs, random numbers and
            checkpoint: what is a cache is the same then.
    """
    if made := next((name for name, _ in trial.named_parameters() if name not in dict(model.named_parameters())), None):
        raise ValueError(f"makes its parameter {made} when it is first called: nothing would train it; make it before")
    if made := next((name for name in trial.state_dict() if name not in model.state_dict()), None):
        raise ValueError(
            f"makes its buffer {made} when it is first called: no checkpoint could be read; make it before"
        )
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor):
            raise ValueError(f"remembers {name} of type {type(value).__name__}; {KEPT}")
    if sparse := next((name for name, each in model.named_modules() if getattr(each, "sparse", False) is True), None):
        raise ValueError(f"has sparse gradients in {sparse}, and a run's are dense; make it with sparse=False")
    inputs, kept = torch.rand_like(batch), {name: value.clone() for name, value in trial.state_dict().items()}
    (first, before), (second, after) = (called(trial, inputs, kept) for _ in range(2))
    if changed := next((name for name, value in after.items() if not _same(before.get(name, value), value)), None):
        raise ValueError(f"remembers {changed}, which changes with every call; {KEPT} (register_buffer)")
    if isinstance(first, Tensor) and isinstance(second, Tensor) and not _close(first, second):
        raise ValueError(
            f"has other outputs when it is called again with the same inputs and random numbers; {KEPT}, and the "
            "states of the global generators"
        )


def _close(one: Tensor, other: Tensor) -> bool:
    """Tell whether they are the same but for rounding, which threads may do in another order."""
    return torch.allclose(one, other, rtol=1e-3, atol=1e-5, equal_nan=True)


def called(trial: nn.Module, inputs: Tensor, kept: Mapping[str, Tensor]) -> tuple[object, dict[str, object]]:
    """Return outputs, and what is remembered then beside a checkpoint, of a call that begins with one."""
    with torch.no_grad():
        for name, value in trial.state_dict().items():
            value.copy_(kept[name])
    with random_kept():
        outputs = trial(inputs)
    return outputs, _beside(trial)


def check_hook(scheme: str, hook: Callable[[], None]) -> None:
    """Raise UserError for what a scheme has called after every update where it sets a variable around it (nonlocal)."""
    code: CodeType | None = getattr(inspect.unwrap(hook), "__code__", None)
    for step in dis.get_instructions(code) if code else ():
        if code and step.opname == "STORE_DEREF" and step.argval in code.co_freevars:
            raise UserError(
                f"{scheme}: what its step_hook(model) returns remembers {step.argval} from call to call; {KEPT}"
            )


def check_computed(model: nn.Module) -> None:
    """Raise ValueError for a tensor that a module computed when it was built, and keeps: that cannot be copied."""
    for name, module in model.named_modules():
        kept = (each for each, value in vars(module).items() if isinstance(value, Tensor) and value.grad_fn is not None)
        if attribute := next(kept, None):
            old = any(isinstance(hook, WeightNorm) for hook in module._forward_pre_hooks.values())
            instead = "make it with torch.nn.utils.parametrizations.weight_norm" if old else "compute it in forward()"
            by = " by torch.nn.utils.weight_norm" if old else " when it was built"
            part = f"{name} ({type(module).__name__})" if name else "the network"
            raise ValueError(f"{part}: its {attribute} was computed{by}, and cannot be copied; {instead}")


def check_initialized(model: nn.Module, known: Mapping[str, nn.Parameter]) -> None:
    """Raise UserError where an initialization from data put in parameters that the optimizer does not have."""
    for name, parameter in model.named_parameters():
        if parameter is not known.get(name):
            what = "replaces" if name in known else "adds"
            raise UserError(
                f"initialization from data {what} the parameter {name}, which the optimizer would not train"
            )


def _beside(model: nn.Module) -> dict[str, object]:
    """Return the numbers and tensors, alone or in lists, that no checkpoint keeps of all modules."""
    found: dict[str, object] = {}
    for owner, module in model.named_modules():
        own = {name: value for name, value in vars(module).items() if name not in OF_TORCH}
        unsaved = {name: module._buffers.get(name) for name in module._non_persistent_buffers_set}
        for name, value in (own | unsaved).items():
            found.update(_leaves(f"{owner}.{name}" if owner else name, value))
    return found


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the numbers and tensors of an attribute, each with its name."""
    if type(value) in (int, float):
        yield name, value
    elif isinstance(value, Tensor):
        yield name, value.detach().clone()
    elif isinstance(value, dict | list | tuple | deque):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{name}[{key!r}]", each)


def _same(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    return not isinstance(one, Tensor) and not isinstance(other, Tensor) and one == other
