"""The modules that a network keeps where nn.Module does not look: in a list, a function, a method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from types import CellType, FunctionType, MethodType

import torch
from torch import nn


def unregistered(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    """Yield owner, attribute and module where a network keeps modules in what is none: a list, a function."""
    own, usual = set(model.modules()), vars(nn.Module())
    for owner in (each for each in own if not isinstance(each, torch.jit.ScriptModule)):
        for name, value in vars(owner).items():
            for each in _inside(value, set()) if name not in usual else ():
                if each not in own:
                    yield owner, name, each


def _inside(value: object, seen: set[int]) -> Iterator[nn.Module]:
    """Yield the modules that a value is or holds, but not those in them."""
    if isinstance(value, nn.Module):
        yield value
    elif id(value) not in seen:  # a function may hold itself
        seen.add(id(value))
        for each in _parts(value):
            yield from _inside(each, seen)


def _parts(value: object) -> Iterable[object]:
    """Return what Python's own containers, functions and methods hold."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        return [value.__defaults__, value.__kwdefaults__, *map(_content, value.__closure__ or ())]
    return list(value) if isinstance(value, (list, tuple, set)) else ()


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None
