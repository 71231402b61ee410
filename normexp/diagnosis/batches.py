"""The inputs in whatever a user calls data: a batch, a pair of inputs and labels, or an iterable of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from normexp.errors import UserError, kind_of
from normexp.records.waiting import Waiting

MOST = 64  # batches looked at of a loader


def batches(data: Tensor | Iterable[Any], most: int = MOST, waiting: Waiting | None = None) -> list[Tensor]:
    """Return the input tensors of up to `most` batches.

    Args:
        data: a tensor (N, ...), (inputs, labels), or an iterable of such.
        waiting: is told how many there are so far.

    Raises: UserError for anything else, where there is no batch or an empty one, and for values that are not finite.
    """
    _check_meant(data)
    if not _are_batches(data) and (alone := _inputs(data)) is not None:
        data = iter([alone])
    if not isinstance(data, Iterable) or isinstance(data, Tensor | str | bytes | dict):
        raise UserError(
            f"data: {kind_of(data)} is no batch; give a tensor (N, ...), (inputs, labels), or a loader of them"
        )
    found, waiting = list[Tensor](), waiting or Waiting()
    for batch in islice(data, most):
        if (x := _inputs(batch)) is None:
            raise UserError(
                f"data: a batch is a {kind_of(batch)}; give tensors (N, ...), or tuples that begin with one"
            )
        if x.layout != torch.strided:
            raise UserError(f"data: a batch is sparse ({x.layout}); give it as x.to_dense()".replace("torch.", ""))
        if x.is_meta:
            raise UserError("data: a batch is on the meta device, where tensors have no values")
        found.append(x)
        waiting.at(f"batches read: {len(found)}" + (f" of {most} at most" if most == MOST else ""))
    if not found or not all(map(len, found)):
        raise UserError("data: there is no example in it")
    if not all(x.isfinite().all() for x in found):
        raise UserError("data: holds NaN or infinite values")
    return found


def _inputs(data: object) -> Tensor | None:
    """Return the inputs of one batch; None where this is none."""
    if isinstance(data, Tensor):
        return data if data.dim() else None
    if isinstance(data, tuple | list) and data and isinstance(data[0], Tensor) and data[0].dim():
        return data[0]
    return None


def _check_meant(data: Any) -> None:
    """Raise UserError for a list that may be of batches, or of one batch's inputs and targets of another size."""
    tensors = isinstance(data, list) and len(data) > 1 and all(isinstance(each, Tensor) for each in data)
    if tensors and len({each.dim() for each in data}) == 1 and data[0].dim() > 2 and not _are_batches(data):
        shapes = ", ".join(str(tuple(each.shape)) for each in data[:3])
        raise UserError(
            f"data: a list of {shapes} may be batches, or inputs and labels; give iter(batches) or (inputs, labels)"
        )


def _are_batches(data: object) -> bool:
    """Tell a list of batches from [inputs, labels], as a loader gives them: all of one shape but for the first axis."""
    if not isinstance(data, list) or not all(isinstance(each, Tensor) and each.dim() > 1 for each in data):
        return False
    return len({each.shape[1:] for each in data}) == 1


def first_tensor(output: object) -> Tensor:
    """Return the first tensor in what a network returns: a tensor, tuples, lists, dictionaries. Raises UserError.

    Whole numbers (classes, indices) do not count: no small change shows in them. Complex numbers are pairs of others.
    """
    for found in _tensors(output):
        if found.is_complex():
            return torch.view_as_real(found.resolve_conj())
        if found.is_floating_point():
            return found
    kind = next((f"tensor of {each.dtype}" for each in _tensors(output)), kind_of(output))
    told = "a tensor in floating point is needed, or a tuple or dictionary with one"
    raise UserError(f"the network returns a {kind.replace('torch.', '')}; {told}")


def _tensors(output: Any) -> Iterator[Tensor]:
    if isinstance(output, Tensor):
        yield output
    for part in output.values() if isinstance(output, dict) else output if isinstance(output, tuple | list) else ():
        yield from _tensors(part)


class FirstOutput(nn.Module):
    """A network that returns its first tensor alone; its parameters keep their names behind `network.`"""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return first_tensor(self.network(x))


@contextmanager
def batches_spared(model: nn.Module) -> Iterator[None]:
    """Give a network a copy of what it is called with: batches are the caller's, and are looked at again and again."""

    def copies(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(each.clone() if isinstance(each, Tensor) else each for each in given)

    handle = model.register_forward_pre_hook(copies, prepend=True)
    try:
        yield
    finally:
        handle.remove()


def on_device_of(model: nn.Module, found: list[Tensor]) -> list[Tensor]:
    """Return batches where the network's parameters are, floating point in their type."""
    real = (each for each in model.parameters() if each.is_floating_point())
    parameter = next(real, next(model.parameters(), torch.empty(0)))
    kind = parameter.dtype if parameter.is_floating_point() else torch.get_default_dtype()
    usable = (x.clone() if x.is_inference() else x for x in found)  # others cannot be kept for gradients
    return [x.to(parameter.device, kind if x.is_floating_point() else None) for x in usable]
