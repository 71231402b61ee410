"""Normalizations that have too few values: batches of 1, maps of 1 x 1, groups that erase what they are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from normexp.diagnosis.finding import BATCH, NOTE, Finding
from normexp.norms.networks.trial import watched

FEW = 16  # values behind one mean and variance


def values(module: nn.Module, shape: tuple[int, ...]) -> int | None:
    """Return how many values share a mean and variance at an input (N, C, *); None where that is not known."""
    if isinstance(module, _BatchNorm):
        return prod(shape) // shape[1]
    if isinstance(module, _InstanceNorm):
        return prod(shape[2:])
    if isinstance(module, nn.GroupNorm):
        return shape[1] // module.num_groups * prod(shape[2:])
    return prod(module.normalized_shape) if isinstance(module, nn.LayerNorm) else None


def of_shapes(path: str, module: nn.Module, shape: tuple[int, ...]) -> Iterator[Finding]:
    """Yield what is wrong, or may go wrong, with the number of values that a normalization has at this input."""
    count = values(module, shape)
    if count is None:
        return
    if isinstance(module, _BatchNorm):
        yield from _of_batch(path, module, shape, count)
    elif count == 1:
        yield Finding("erased", path, f"each value of {shape} is its own mean, so that the output is the bias alone")
    elif count == 2:
        yield Finding("erased", path, "two values share a mean: only the sign of their difference is left")


@contextmanager
def last_input(norms: Mapping[str, nn.Module]) -> Iterator[dict[str, tuple[int, ...]]]:
    """Yield {path: shape of its input} of the normalization that was entered last; empty before any was."""
    entered: dict[str, tuple[int, ...]] = {}

    def note(path: str, x: Tensor) -> None:
        entered.clear()
        entered[path] = tuple(x.shape)

    with watched(norms, note):
        yield entered


def too_few(norms: Mapping[str, nn.Module], entered: Mapping[str, tuple[int, ...]]) -> str:
    """Say that a pass stopped where a channel has one value, and what helps; empty where it did not stop for that.

    Args:
        entered: path and shape of the normalization that was entered last.
    """
    for path, shape in entered.items():
        module = norms[path]
        if len(shape) > 1 and values(module, shape) == 1:
            told = f"{path}: {type(module).__name__} has one value per channel at an input of {shape}, its own mean"
            fix = "a larger batch, or another norm there" if isinstance(module, _BatchNorm) else "take it out there"
            return f"{told}; {fix}"
    return ""


def _of_batch(path: str, module: nn.Module, shape: tuple[int, ...], count: int) -> Iterator[Finding]:
    positions = count // shape[0]
    if getattr(module, "track_running_stats", True) is False:
        yield Finding(
            BATCH,
            path,
            "has no running statistics, so each prediction depends on the others in its batch",
        )
    if count < FEW:
        told = (
            f"values per channel: {count} (batch of {shape[0]}, positions: {positions}): statistics this noisy mislead"
        )
        yield Finding("tiny batch", path, f"{told}; a larger batch, or convert=group")
    elif positions == 1:
        yield Finding("batch of 1", path, "has one position, so training on a batch of 1 stops with an error", NOTE)
