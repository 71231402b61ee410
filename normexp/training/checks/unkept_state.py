"""State of a network, or of a scheme of the user's own, that is not trained or that no checkpoint keeps."""

from __future__ import annotations

import copy
import dis
import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import CodeType

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.utils.weight_norm import WeightNorm

from normexp.errors import UserError, kind_of
from normexp.seeding import random_kept

CHECKPOINT_KEEPS = (
    "a checkpoint keeps parameters and persistent buffers alone, without which a run could not be continued"
)
MODES = {False: "evaluation", True: "training"}  # a trial goes on in the last
OF_TORCH = vars(nn.Module())  # attributes that every module has


def check_state(model: nn.Module, trial: nn.Module, batch: Tensor) -> None:
    """Raise ValueError for state that is not trained, or that no checkpoint keeps.

    Args:
        trial: a copy that was called once, and is called more often here with the same inputs, random numbers and
            checkpoint: what is a cache is the same then. A new copy with that checkpoint is what a continued run has.
    """
    if (given := trial.train()) is not trial:
        raise ValueError(f"its train() returns a {kind_of(given)}, and must return the network itself (return self)")
    inputs, new = torch.rand_like(batch), copy.deepcopy(model)
    for mode in MODES:
        _check_entries(model, trial)
        kept = {name: value.clone() for name, value in trial.state_dict().items()}
        (_, before), (outputs, after), (others, _) = (
            called(each.train(mode), inputs, kept) for each in (trial, trial, new)
        )
        if inputs._version:
            raise ValueError("changes its inputs in place, which are the data; return a new tensor")
        if changed := next((name for name, value in after.items() if not _same(before.get(name, value), value)), None):
            raise ValueError(
                f"remembers {changed}, which changes with every call; {CHECKPOINT_KEEPS} (register_buffer)"
            )
        pairs = [(outputs, others), *zip(trial.state_dict().values(), new.state_dict().values(), strict=True)]
        if not all(_close(*pair) for pair in pairs):
            raise ValueError(
                f"continued from a checkpoint it has other outputs or buffers in {MODES[mode]}; a checkpoint keeps "
                "parameters, persistent buffers and the states of the global generators alone"
            )


def _check_entries(model: nn.Module, trial: nn.Module) -> None:
    """Raise ValueError for what a checkpoint cannot hold, or what a new network could not take from it."""
    parameters, built, now = dict(model.named_parameters()), model.state_dict(), trial.state_dict()
    if made := next((name for name, _ in trial.named_parameters() if name not in parameters), None):
        raise ValueError(f"makes its parameter {made} when it is first called: nothing would train it; make it before")
    if hidden := next(_unregistered(trial), None):
        raise ValueError(
            f"keeps {hidden} where torch does not see it: nothing would train it; make it an nn.Parameter, or the list "
            "that it is in an nn.ParameterList or nn.ModuleList (requires_grad_(False) where nothing is to train it)"
        )
    if made := next((name for name in now if name not in built), None):
        raise ValueError(
            f"makes its buffer {made} when it is first called: no checkpoint could be read; make it before"
        )
    if lost := next((name for name, value in parameters.items() if value.requires_grad and name not in built), None):
        raise ValueError(f"its state_dict() leaves out the parameter {lost}; {CHECKPOINT_KEEPS}")
    for name, value in built.items():
        if not isinstance(value, Tensor):
            raise ValueError(f"remembers {name} of type {type(value).__name__}; {CHECKPOINT_KEEPS}")
        if not can_be_saved(value):
            raise ValueError(f"remembers {name} of type {value.dtype}, {value.layout}, which no checkpoint can hold")
        if (before := type_and_shape(value)) != (after := type_and_shape(now[name])):
            raise ValueError(f"makes its {name}, {before}, {after} when it is called: no checkpoint could be read")
    if sparse := next((name for name, each in model.named_modules() if getattr(each, "sparse", False) is True), None):
        raise ValueError(f"has sparse gradients in {sparse}, and a run's are dense; make it with sparse=False")


def can_be_saved(tensor: Tensor) -> bool:
    """Tell whether a safetensors file can hold a tensor of its type."""
    try:
        save({"": tensor.new_empty(0)})
    except (KeyError, ValueError):
        return False
    return True


def type_and_shape(tensor: Tensor) -> str:
    """Return them for an error: `float32 [8, 4]`."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _close(one: object, other: object) -> bool:
    """Tell whether tensors are the same but for rounding, which threads may do in another order."""
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return True
    if one.shape != other.shape:
        return False
    return torch.equal(one, other) or torch.allclose(one, other, rtol=1e-3, atol=1e-5, equal_nan=True)


def called(trial: nn.Module, inputs: Tensor, kept: Mapping[str, Tensor]) -> tuple[object, dict[str, object]]:
    """Return outputs, and what is remembered then beside a checkpoint, of a call that begins with one."""
    with torch.no_grad():
        for name, value in trial.state_dict().items():
            value.copy_(kept.get(name, value))  # what a call makes is refused after it
    with random_kept():
        outputs = trial(inputs)
    return outputs, _beside(trial)


def check_hook(scheme: str, hook: Callable[[], None]) -> None:
    """Raise UserError for what a scheme has called after every update where it sets a variable around it (nonlocal)."""
    code: CodeType | None = getattr(inspect.unwrap(hook), "__code__", None)
    for step in dis.get_instructions(code) if code else ():
        if code and step.opname == "STORE_DEREF" and step.argval in code.co_freevars:
            remembered = f"what its step_hook(model) returns remembers {step.argval} from call to call"
            raise UserError(f"{scheme}: {remembered}; {CHECKPOINT_KEEPS}")


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
    for name, held in _attributes(model):
        if isinstance(held, Tensor):
            found[name] = held.detach().clone()
        elif type(held) in (int, float):
            found[name] = held
    return found


def _unregistered(model: nn.Module) -> Iterator[str]:
    """Yield the names of tensors that are to be trained, and are no parameters of the network."""
    parameters = {id(each) for each in model.parameters()}
    for name, held in _attributes(model):
        inside = held.named_parameters(name) if isinstance(held, nn.Module) else [(name, held)]
        tensors = ((place, each) for place, each in inside if isinstance(each, Tensor) and id(each) not in parameters)
        yield from (place for place, each in tensors if each.is_leaf and each.requires_grad)


def _attributes(model: nn.Module) -> Iterator[tuple[str, object]]:
    """Yield what attributes of all modules hold, alone or in lists, beside what a checkpoint keeps, with its name."""
    for owner, module in model.named_modules():
        own = {name: value for name, value in vars(module).items() if name not in OF_TORCH}
        unsaved = {name: module._buffers.get(name) for name in module._non_persistent_buffers_set}
        for name, value in (own | unsaved).items():
            yield from _leaves(f"{owner}.{name}" if owner else name, value)


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield what an attribute holds, alone or in lists, each with its name."""
    if isinstance(value, dict | list | tuple | deque):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{name}[{key!r}]", each)
    else:
        yield name, value


def _same(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    return not isinstance(one, Tensor) and not isinstance(other, Tensor) and one == other
