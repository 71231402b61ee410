"""What a scheme does to a network, found by asking it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm
from normexp.seeding import random_kept


@dataclass(frozen=True)
class Effect:
    """What a scheme does to a network: to pre-activations, to activation functions, to pools, to weights."""

    normalizes: bool
    replaces: bool
    wraps: bool
    pools: bool
    sets_weights: bool

    @property
    def is_any(self) -> bool:
        """True where the scheme does something to a network without recurrence."""
        return self.normalizes or self.replaces or self.wraps or self.pools or self.sets_weights

    @staticmethod
    def of(norm: Norm) -> Effect:
        fn, pool = nn.ReLU(), nn.MaxPool2d(2)
        with random_kept():
            places = normalizes(norm)
            replaces = replaces_nonlinearity(norm)
            wraps = not replaces and norm.nonlinearity(fn) is not fn
        return Effect(places, replaces, wraps, norm.pool(pool) is not pool, parametrizes(norm))


def parametrizes(norm: Norm) -> bool:
    """Tell whether the scheme computes a layer's weight from something else."""
    with random_kept():  # a layer starts at random, and so may what the scheme needs
        layer = norm.parametrize(nn.Linear(4, 4))
    return parametrize.is_parametrized(layer)


def replaces_nonlinearity(norm: Norm) -> bool:
    """Tell whether the scheme brings a nonlinearity of its own in place of the network's."""
    return isinstance(norm.nonlinearity(nn.ReLU()), nn.Identity)


def normalizes(norm: Norm) -> bool:
    """Tell whether the scheme has a module for pre-activations."""
    try:
        return not isinstance(norm.normalization(64), nn.Identity)
    except ValueError:  # refuses this number of channels; others are for each place to find out
        return True
