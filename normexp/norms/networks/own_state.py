"""What a module itself holds, to be put back after a forward pass that is to leave no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


def own_buffers(module: nn.Module) -> Callable[[], None]:
    """Return what puts the buffers of a module, without those of its parts, back to what they are now."""
    return _as_now([module._buffers])


def own_state(module: nn.Module) -> Callable[[], None]:
    """Return what puts a module, without its parts, back to what it is now.

    That is every attribute, what its lists and dictionaries hold (torch keeps parameters, buffers and parts in
    dictionaries), and the tensors in them: a forward may write into parameters, too, as that of an Embedding with
    `max_norm`, of a codebook, or of a network with a slow copy of itself. Other objects are not looked into.
    """
    own = vars(module)
    return _as_now([own, *(each for each in own.values() if isinstance(each, (dict, list)))])


def _as_now(containers: Iterable[Any]) -> Callable[[], None]:
    """Return what gives lists and dictionaries back what they hold now, and the tensors among that what they are."""
    held = [(each, list(each) if isinstance(each, list) else dict(each)) for each in containers]
    tensors = {id(value): value for _, kept in held for value in _values(kept) if isinstance(value, Tensor)}
    undo = [_tensor_as_now(each) for each in tensors.values()]

    def put_back() -> None:
        for each, kept in held:
            _refill(each, kept)
        for back in undo:
            back()

    return put_back


def _values(kept: Any) -> Iterable[object]:
    return kept.values() if isinstance(kept, dict) else kept


def _refill(each: Any, kept: Any) -> None:
    if isinstance(each, list):
        each[:] = kept
        return
    for name in each.keys() - kept.keys():
        del each[name]
    each.update(kept)  # it is never empty on the way: a module lives in its own


def _tensor_as_now(tensor: Tensor) -> Callable[[], None]:
    """Return what puts a tensor's value, gradient and `requires_grad` back.

    What did not change is not written: into a view whose places share memory torch does not write. A graph that needs
    the value stays valid.
    """
    value, needs = tensor.detach().clone(), tensor.requires_grad
    gradient = tensor.grad if tensor.is_leaf else None

    @torch.no_grad()
    def put_back() -> None:
        if not torch.equal(tensor, value):
            tensor.data.copy_(value)
        if tensor.requires_grad != needs:
            tensor.requires_grad_(needs)
        if tensor.is_leaf:
            tensor.grad = gradient

    return put_back
