"""What is measured: one linear layer without bias under a scheme, in float64 and all but without eps."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, free_weight, weight_layers
from normexp.seeding import random_kept, seed_all
from normexp.torch_modes import threads_kept

INPUTS, UNITS, BATCH = 24, 128, 96  # 32 groups hold 4 units each: two standardized ones would be constants
TINY = 1e-30  # an eps that changes no digit of a float64 variance near 1
QUICK = 0.5  # a momentum with which running estimates settle in 40 batches; where to does not depend on it
MAX_BATCHES = 3000


@dataclass(frozen=True)
class Subject:
    """A block of one linear layer and the data that it sees.

    Args:
        block: W x under the scheme, without bias, float64, in training mode. The network's nonlinearity is the
            identity; a scheme that brings its own (EvoNorm, filter response normalization) has that.
        x: (N, `INPUTS`); (N, `INPUTS`, 3, 2) and a 1 x 1 convolution where the scheme refuses vectors.
    """

    block: nn.Module
    x: Tensor

    def copy(self) -> Subject:
        return Subject(copy.deepcopy(self.block), self.x.clone())

    @property
    def weight(self) -> Tensor:
        """The free weights, one row per unit: W, or v under weight normalization."""
        (layer,) = weight_layers(self.block)
        return free_weight(layer)[1]

    def other_cases(self) -> Tensor:
        """Return cases of the same distribution, shaped like x."""
        return draw(self.x.shape)


def draw(shape: tuple[int, ...]) -> Tensor:
    """Return cases with mean 1/2 and deviation 1, in float64."""
    return torch.randn(shape, dtype=torch.double) + 0.5


def make_subject(norm: Norm, *, exact: bool = True) -> Subject:
    """Build the subject: on vectors where the scheme takes them, on small maps otherwise.

    Args:
        exact: set every `eps` to `TINY` and every `momentum` to `QUICK`.
    """
    norm = without_eps(norm) if exact else norm
    vectors = on_vectors(norm)
    return vectors if takes(vectors) else on_maps(norm)


def on_vectors(norm: Norm) -> Subject:
    return Subject(norm.block(nn.Linear(INPUTS, UNITS, bias=False), nn.Identity()).double(), draw((BATCH, INPUTS)))


def on_maps(norm: Norm) -> Subject:
    block = norm.block(nn.Conv2d(INPUTS, UNITS, 1, bias=False), nn.Identity()).double()
    return Subject(block, draw((BATCH, INPUTS, 3, 2)))


def refuses_maps(norm: Norm) -> bool:
    """Tell whether a scheme takes vectors (N, C) and no maps (N, C, H, W), as torch's nn.BatchNorm1d does."""
    with random_kept():
        return not takes(on_maps(norm)) and takes(on_vectors(norm))


def takes(subject: Subject) -> bool:
    """Tell whether the block computes anything on these inputs."""
    trial = subject.copy()
    try:
        trial.block(trial.x)
    except (ValueError, RuntimeError, IndexError):
        return False
    return True


def without_eps(norm: Norm) -> Norm:
    """Return the scheme with a tiny eps and a quick momentum, in its parts too; as it is if it refuses."""
    usual: dict[str, Any] = {field.name: getattr(norm, field.name) for field in fields(norm)}
    changed: dict[str, Any] = {key: without_eps(part) for key, part in usual.items() if isinstance(part, Norm)}
    changed |= {key: value for key, value in (("eps", TINY), ("momentum", QUICK)) if key in usual}
    try:
        return replace(norm, **changed)
    except (TypeError, ValueError):
        return norm


@torch.no_grad()
def settle(subject: Subject) -> None:
    """Show the block its data until no running estimate moves any more."""
    for _ in range(MAX_BATCHES):
        before = state(subject.block)
        subject.block(subject.x)
        after = state(subject.block)
        if all(torch.allclose(old, new, rtol=1e-12, atol=1e-14) for old, new in zip(before, after, strict=True)):
            return


def state(block: nn.Module) -> list[Tensor]:
    """Return copies of the floating-point buffers."""
    return [buffer.clone() for buffer in block.buffers() if buffer.is_floating_point()]


def distance(found: Tensor, expected: Tensor) -> float:
    """Return ||found - expected|| / ||expected||."""
    return float((found - expected).norm() / expected.norm())


@contextmanager
def reproducible() -> Iterator[None]:
    """Measure the same numbers every time: seed 0, and one thread, which is also quickest on small tensors."""
    with threads_kept(), random_kept():
        torch.set_num_threads(1)
        seed_all(0)
        yield
