"""Large tensors a few samples at a time, so that what a formula computes in between stays in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from normexp.norms.base import at_least_float32

# Values per thread: a megabyte in float32. A few of these stay in the cache that cores share; with smaller ones, which
# a core's own holds, the calls of operators take more time than is gained.
TILE = 2**18


def tiles(x: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield x: (N, C, *) and the others in slices of samples; vectors and scalars belong to all and stay whole."""
    size = samples(x)
    for start in range(0, max(len(x), 1), size):
        yield tuple(each[start : start + size] if each.dim() > 1 else each for each in (x, *others))


def samples(x: Tensor) -> int:
    """Return how many samples of x: (N, C, *) make a tile: all where no cache is to be kept to, or a compiler does."""
    if kept_by_others() or not x.is_cpu:
        return max(len(x), 1)
    return max(TILE * torch.get_num_threads() // max(x[:1].numel(), 1), 1)


def tiled(function: Callable[..., Tensor], x: Tensor, *others: Tensor) -> Tensor:
    """Return `function(x, *others)` for a function that treats samples alone and keeps the shape of x.

    It gets x in float32 at least; its result is rounded once to x's type.
    """
    if kept_by_others() or len(x) <= samples(x):
        return function(at_least_float32(x), *others).to(x.dtype)
    y = torch.empty_like(x)
    for out, part, *rest in tiles(y, x, *others):
        out.copy_(function(at_least_float32(part), *rest))
    return y


def kept_by_others() -> bool:
    """Tell whether torch.compile, torch.export, torch.func or a trace calls a formula, and decides what backward keeps.

    None takes the autograd functions and the slices that keep less: a compiler fuses them itself, and a trace would
    keep the number of slices.
    """
    compiled = torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None
    return compiled or bool(torch._C._are_functorch_transforms_active())
