"""One clause of the contract, and what a scheme has, which decides the clauses that are asked of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm
from normexp.norms.checks.subject import UNITS
from normexp.seeding import random_kept

VECTORS, SEQUENCES, MAPS = (4, UNITS), (4, UNITS, 5), (4, UNITS, 3, 2)


class Broken(Exception):
    """A clause does not hold; the message says how."""


@dataclass(frozen=True)
class Case:
    """A scheme and what it says of itself beyond its options.

    Args:
        exact_gradient: False for a scheme whose backward is, as published, not the derivative of its forward.
        mixes_examples: True if in training an example's output depends on the others; None: not said.
    """

    norm: Norm
    exact_gradient: bool = True
    mixes_examples: bool | None = None

    @cached_property
    def acts_on_activations(self) -> bool:
        """True if the scheme has a module of its own for pre-activations, or replaces the nonlinearity."""
        fn = nn.Tanh()
        return self.normalizes or self.norm.nonlinearity(fn) is not fn

    @cached_property
    def normalizes(self) -> bool:
        """True if the scheme has a module for pre-activations."""
        return not isinstance(self.norm.normalization(UNITS), nn.Identity)

    @cached_property
    def acts_on_blocks(self) -> bool:
        """True if a block under the scheme is more than a layer and its nonlinearity."""
        with random_kept():  # as below
            layer = self.norm.parametrize(nn.Linear(3, UNITS))
        return self.acts_on_activations or parametrize.is_parametrized(layer) or type(layer) is not nn.Linear

    @cached_property
    def takes_vectors(self) -> bool:
        """True unless the scheme refuses (N, C) with a ValueError, as statistics over positions must."""
        return self._takes(VECTORS)

    @cached_property
    def takes_sequences(self) -> bool:
        """True unless the scheme refuses (N, C, L) with a ValueError, as torch's nn.BatchNorm2d does."""
        return self._takes(SEQUENCES)

    @cached_property
    def takes_maps(self) -> bool:
        """True unless the scheme refuses (N, C, H, W) with a ValueError, as torch's nn.BatchNorm1d does."""
        return self._takes(MAPS)

    def _takes(self, shape: tuple[int, ...]) -> bool:
        try:
            with random_kept():  # the numbers of a clause must not depend on whether another one has asked before
                self.norm.normalization(UNITS)(torch.randn(shape))
        except ValueError:
            return False
        return True

    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes that the scheme takes; one clause says which others it refuses."""
        taken = {VECTORS: self.takes_vectors, SEQUENCES: self.takes_sequences, MAPS: self.takes_maps}
        return [shape for shape, takes in taken.items() if takes]

    def variants(self) -> Iterator[Norm]:
        """Yield the scheme, and with `affine=False` where it has that option and learns something."""
        yield self.norm
        if any(field.name == "affine" for field in fields(self.norm)) and getattr(self.norm, "affine", False):
            yield replace(self.norm, affine=False)  # type: ignore[call-arg]

    def block(self) -> nn.Module:
        """Return a convolution under the scheme with a tanh, which has all derivatives."""
        return self.norm.block(nn.Conv2d(3, UNITS, 3), nn.Tanh())


class Clause(NamedTuple):
    """What every scheme owes its caller: `check` raises (Broken, or anything) where it does not hold.

    Args:
        applies: tells whether the scheme has what the clause is about.
    """

    name: str
    check: Callable[[Case], None]
    applies: Callable[[Case], bool]


def always(case: Case) -> bool:
    return True


def on_activations(case: Case) -> bool:
    return case.acts_on_activations


def normalizes(case: Case) -> bool:
    return case.normalizes


def on_maps(case: Case) -> bool:
    return case.normalizes and case.takes_maps


def on_blocks(case: Case) -> bool:
    """Tell whether a block of a convolution can be asked."""
    return case.acts_on_blocks and case.takes_maps


def make(norm: Norm, dtype: torch.dtype = torch.float32) -> nn.Module:
    """Return what the scheme does to pre-activations and in place of a tanh."""
    return nn.Sequential(norm.normalization(UNITS), norm.nonlinearity(nn.Tanh())).to(dtype)


@torch.no_grad()
def randomized(module: nn.Module) -> nn.Module:
    """Give every parameter values at which no term of a gradient vanishes."""
    for parameter in module.parameters():
        parameter.uniform_(0.5, 1.5)
    return module


def outcome(module: nn.Module, x: Tensor, cotangent: Tensor) -> list[Tensor]:
    """Return output and gradients (of x, then of the parameters) of a copy: a step of training may move state."""
    module, x = copy.deepcopy(module), x.detach().requires_grad_()
    y: Any = module(x)
    return [y.detach(), *torch.autograd.grad(y, [x, *module.parameters()], cotangent.to(y.dtype))]


def compare(found: Tensor, expected: Tensor, tolerance: float, what: str) -> None:
    """Raise Broken where |found - expected| is above tolerance (1 + |expected|)."""
    expected = expected.to(found.dtype)
    if not torch.allclose(found, expected, rtol=tolerance, atol=tolerance):
        worst = float((found - expected).detach().abs().max())
        raise Broken(f"{what}: off by {worst:.2g}")
