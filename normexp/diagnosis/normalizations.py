"""The normalizations of a network, and what enters them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.instancenorm import _InstanceNorm

from normexp.norms.networks.torch_weights import NAMES, computed
from normexp.norms.networks.trial import watched
from normexp.records.waiting import Waiting

OF_TORCH = (_NormBase, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm, nn.LocalResponseNorm)


def keeps_statistics(module: nn.Module) -> bool:
    """Tell a module with running statistics of mean and variance."""
    return all(isinstance(getattr(module, name, None), Tensor) for name in ("running_mean", "running_var"))


def is_normalization(module: nn.Module) -> bool:
    """Tell one of torch's, what derives from them, and whatever has running statistics."""
    return isinstance(module, OF_TORCH) or keeps_statistics(module)


def normalizations(model: nn.Module) -> dict[str, nn.Module]:
    """Return {path: module} of torch's normalizations, what derives from them, and whatever has running statistics."""
    return {path: module for path, module in model.named_modules() if is_normalization(module)}


def other_statistics(model: nn.Module) -> dict[str, nn.Module]:
    """Return {path: module} of what has running statistics, and not both a mean and a variance."""
    return {
        path: module
        for path, module in model.named_modules()
        if any(name.startswith("running_") and isinstance(value, Tensor) for name, value in module._buffers.items())
        and not keeps_statistics(module)
    }


def normalized_weights(model: nn.Module) -> dict[str, list[str]]:
    """Return {scheme: its weights by name} of what torch's functions or schemes of normexp compute."""
    found: dict[str, list[str]] = {}
    for path, module in model.named_modules():
        for name, step in computed(module):
            ours = type(step).__module__.startswith("normexp.norms.") and type(step).__name__
            if scheme := NAMES.get(type(step)) or ours:
                found.setdefault(scheme, []).append(f"{path}.{name}".removeprefix("."))
    return found


@dataclass
class Moments:
    """Mean and squared deviations per channel of all that was added, in float64, and the last shape.

    Args:
        count: values per channel.
        examples: how many were added.
        halves: the same of the examples in even and in odd places of all, where that is asked for.
        calls: the same of the second call in a pass, of the third, and so on; there is mostly one call.
    """

    count: int = 0
    examples: int = 0
    mean: Tensor | float = 0.0
    squares: Tensor | float = 0.0
    shape: tuple[int, ...] = ()
    halves: Sequence[Moments] = ()
    calls: list[Moments] = field(default_factory=list)

    def add(self, x: Tensor) -> None:
        """Add values (N, C, *)."""
        for which, half in enumerate(self.halves):
            if len(part := x[(which + self.examples) % 2 :: 2]):
                half.add(part)
        self.examples += len(x)
        self._add(x)

    def _add(self, x: Tensor) -> None:
        rows = x.detach().movedim(1, 0).flatten(1).double() if x.dim() > 1 else x.detach()[None].double()
        count, mean = rows.shape[1], rows.mean(1)
        squares = (rows - mean[:, None]).square().sum(1)
        total, off = self.count + count, mean - self.mean
        self.squares = self.squares + squares + off.square() * (self.count * count / total)
        self.mean = self.mean + off * (count / total)
        self.count, self.shape = total, tuple(x.shape)

    @property
    def variance(self) -> Tensor:
        """The unbiased variance, as torch's running_var estimates it."""
        assert isinstance(self.squares, Tensor)
        return self.squares / max(self.count - 1, 1)


@dataclass
class InstanceMoments(Moments):
    """The same for instance normalization: averages over examples of what each has, as its running estimates are."""

    def _add(self, x: Tensor) -> None:
        rows = x.detach().flatten(2).double()
        variance = rows.var(2, correction=min(1, rows.shape[2] - 1))
        self.mean = self.mean + (rows.mean(2) - self.mean).sum(0) / self.examples
        self.squares = self.squares + variance.sum(0)
        self.count, self.shape = self.count + len(x) * rows.shape[2], tuple(x.shape)

    @property
    def variance(self) -> Tensor:
        """The mean over examples of the unbiased variance of each."""
        assert isinstance(self.squares, Tensor)
        return self.squares / self.examples


@torch.no_grad()
def moments(
    model: nn.Module,
    modules: Mapping[str, nn.Module],
    inputs: list[Tensor],
    halves: bool = False,
    waiting: Waiting | None = None,
) -> dict[str, Moments]:
    """Return the moments of what enters each module when all batches pass; the modes are those of the model.

    Args:
        halves: also those of each half of the examples.
        waiting: is told which batch passes.
    """
    found, called, waiting = dict[str, Moments](), Counter[str](), waiting or Waiting()

    def look(name: str, x: Tensor) -> None:
        kind = InstanceMoments if isinstance(modules[name], _InstanceNorm) and x.dim() > 2 else Moments
        every = found.setdefault(name, kind(halves=(kind(), kind()) if halves else ()))
        every.add(x)
        if earlier := called[name]:
            every.calls += [kind() for _ in range(len(every.calls), earlier)]
            every.calls[earlier - 1].add(x)
        called[name] += 1

    with watched(modules, look):
        for number, x in enumerate(inputs, 1):
            waiting.at(f"batch {number} of {len(inputs)} passes the network")
            called.clear()
            model(x)
    return found
