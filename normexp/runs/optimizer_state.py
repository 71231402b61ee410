"""What an optimizer remembers of its parameters, and what of it a checkpoint can keep."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.config.rules import SEVERAL_LOSSES
from normexp.errors import UserError, kind_and_line, kind_of, line_in
from normexp.training.checks.unkept_state import can_be_saved

KEPT = "a checkpoint keeps tensors and numbers of self.state[parameter] alone"

NUMBERS = {torch.bool: bool, torch.int64: int, torch.float64: float}  # what `as_tensor` makes of each


class Kind(NamedTuple):
    """What an optimizer keeps under one key of a parameter's state; the shape of a number is that of a scalar."""

    type: type
    shape: torch.Size


Kinds = dict[str, Kind]


def kinds_by_parameter(optimizer: Optimizer) -> list[Kinds]:
    """Return what an optimizer keeps of each of its parameters; one that joins several knows which are whose."""
    inner = getattr(optimizer, "inner", None) or [optimizer]
    return [kinds for each in inner for group in each.param_groups for kinds in _kinds(each, group)]


def _kinds(optimizer: Optimizer, group: Mapping[str, Any]) -> Iterator[Kinds]:
    """Yield what is kept of each parameter of a group, which may depend on its shape and the group's settings."""
    known: dict[torch.Size, Kinds] = {}
    for parameter in group["params"]:
        if parameter.shape not in known:
            alike, like = _alike(optimizer, group, parameter.shape)
            alike.step()
            state = {name: value for name, value in alike.state[like].items() if value is not None}
            known[parameter.shape] = {
                name: Kind(type(value), getattr(value, "shape", torch.Size())) for name, value in state.items()
            }
        yield known[parameter.shape]


def _alike(optimizer: Optimizer, group: Mapping[str, Any], shape: Sequence[int]) -> tuple[Optimizer, nn.Parameter]:
    """Return an optimizer of this kind for one parameter of zeros: what it keeps is found out there."""
    allowed = inspect.signature(type(optimizer)).parameters
    settings = {key: value for key, value in {**optimizer.defaults, **group}.items() if key in allowed}
    settings.pop("params", None)
    parameter = nn.Parameter(torch.zeros(shape))
    parameter.grad = torch.zeros(shape)
    return type(optimizer)([parameter], **settings), parameter


def as_tensor(value: Tensor | bool | int | float) -> Tensor:
    """Return a number as a tensor that holds all its digits."""
    if isinstance(value, Tensor):
        return value
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def as_kept(tensor: Tensor, kind: type) -> Any:
    """Return what a tensor of a checkpoint was: a number where the optimizer keeps one."""
    return kind(tensor.item()) if issubclass(kind, int | float) else tensor


def late_kind(tensor: Tensor) -> Kind:
    """Return what an optimizer made after its first step: a number where `as_tensor` makes such a scalar of one."""
    return Kind(Tensor if tensor.dim() else NUMBERS.get(tensor.dtype, Tensor), torch.Size())


def own_name(optimizer: Optimizer) -> str | None:
    """Return what an optimizer of the user's own is called; None for torch's and ours."""
    name = f"{type(optimizer).__module__}.{type(optimizer).__name__}"
    return None if name.startswith(("normexp.", "torch.")) else name


def check_own_optimizer(optimizer: Optimizer) -> None:
    """Raise UserError for torch's LBFGS of a function, and for an own optimizer that remembers what is not kept."""
    if type(optimizer) is torch.optim.LBFGS:
        raise UserError(SEVERAL_LOSSES)
    if (name := own_name(optimizer)) is None:
        return
    if not hasattr(optimizer, "param_groups"):
        raise UserError(f"{name}: has no param_groups; its __init__() must call super().__init__(params, defaults)")
    for group in optimizer.param_groups:
        for dims in sorted({parameter.dim() for parameter in group["params"]}):
            _check_kept(name, optimizer, group, (1,) * dims)


def _check_kept(name: str, optimizer: Optimizer, group: Mapping[str, Any], shape: Sequence[int]) -> None:
    """Raise UserError where an optimizer remembers of such a parameter what no checkpoint keeps."""
    try:
        alike, number = _alike(optimizer, group, shape)
        before = _numbers(alike)
        stepped = alike.step()
    except Exception as error:  # whatever somebody's own code raises
        reason = "cannot be made, and step, with what its `defaults` say"
        why = f"{kind_and_line(error)}{line_in(error, type(optimizer).__module__)}"
        raise UserError(f"{name}: {reason} ({why}); a run could not be continued") from error
    if inspect.iscoroutine(stepped) or inspect.isgenerator(stepped):  # wrapped by torch, it is no longer seen as such
        raise UserError(f"{name}: its step() returns a {kind_of(stepped)}")
    changed = [setting for setting, value in _numbers(alike).items() if before.get(setting) != value]
    odd = [
        f"self.state[parameter][{key!r}] of type {value.dtype if isinstance(value, Tensor) else type(value).__name__}"
        for key, value in alike.state[number].items()
        if not (value is None or isinstance(value, int | float) or (isinstance(value, Tensor) and can_be_saved(value)))
    ]
    for setting in [*odd, *changed]:
        raise UserError(f"{name}: remembers {setting}; {KEPT}, without which a run could not be continued")


def _numbers(optimizer: Optimizer) -> dict[str, Any]:
    """Return the numbers that an optimizer has beside its state."""
    own = {f"self.{key}": value for key, value in vars(optimizer).items() if not key.startswith("_")}
    groups = {f"self.param_groups[0][{key!r}]": value for key, value in optimizer.param_groups[0].items()}
    return {setting: value for setting, value in {**own, **groups}.items() if isinstance(value, int | float)}
