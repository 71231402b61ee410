"""State of a network, or of a scheme of the user's own, that is not trained or that no checkpoint keeps."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn.utils.weight_norm import WeightNorm

from normexp.errors import UserError
from normexp.seeding import random_kept

KEPT = "a checkpoint keeps parameters and persistent buffers alone, without which a run could not be continued"


def check_state(model: nn.Module, trial: nn.Module, batch: Tensor) -> None:
    """Raise ValueError for state that is not trained, or that no checkpoint keeps.

    Args:
        trial: a copy that was called once, and is called twice more here with the same random numbers: what is a cache
            is the same then.
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
    before, after = _remembered(trial, batch), _remembered(trial, batch)
    if changed := next((name for name, value in after.items() if before.get(name, value) != value), None):
        raise ValueError(f"remembers {changed}, which changes with every call; {KEPT} (register_buffer)")


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


def _remembered(trial: nn.Module, batch: Tensor) -> dict[str, object]:
    """Return what it holds beside its checkpoint after a call that leaves the random numbers as they are."""
    with random_kept():
        trial(batch)
    return _beside(trial)


def _beside(model: nn.Module) -> dict[str, object]:
    """Return the numbers, and the buffers that are not saved, of all modules: numbers, and lists of them."""
    found: dict[str, object] = {}
    for owner, module in model.named_modules():
        prefix = f"{owner}." if owner else ""
        numbers = {name: value for name, value in vars(module).items() if type(value) in (int, float)}
        unsaved = {name: module._buffers.get(name) for name in module._non_persistent_buffers_set}
        lists = {name: value.tolist() for name, value in unsaved.items() if value is not None}
        found |= {f"{prefix}{name}": value for name, value in (numbers | lists).items()}
    return found
