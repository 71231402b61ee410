"""Mean and standard deviation of what an activation or pooling layer makes of N(0, 1), by quadrature.

The integral over [-12, 12] is cut into panels that end at every multiple of 1/2, where piecewise activation
functions have their kinks; on each, 20 Gauss-Legendre nodes are exact to rounding. No constant is typed.
"""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

REACH, PANELS, NODES = 12.0, 48, 20


def activation_moments(fn: nn.Module) -> tuple[float, float]:
    """Return mean and standard deviation of fn(Y), Y ~ N(0, 1).

    Raises: ValueError if fn does not act element by element, or is constant.
    """
    y, density = nodes()
    fn = copy.deepcopy(fn).double().eval()
    name = " ".join(str(fn).split())  # of several modules in one line
    if (values := _elementwise(fn, y)) is None:
        raise ValueError(f"{name} does not act element by element: it has no mean under N(0, 1)")
    return _moments(values, density, name)


@torch.no_grad()
def _elementwise(fn: nn.Module, y: Tensor) -> Tensor | None:
    """Return fn(y) if fn acts element by element."""
    try:
        values, some = fn(y.clone()), fn(y[::2].clone())  # clones: fn may work in place
    except (IndexError, RuntimeError):  # wants other dimensions, or channels
        return None
    return values if values.shape == y.shape and torch.allclose(values[::2], some) else None


def maximum_moments(count: int) -> tuple[float, float]:
    """Return mean and standard deviation of the largest of `count` independent N(0, 1)."""
    y, density = nodes()
    below = torch.special.ndtr(y)  # P(Y < y): the largest is y when one is y and all others are below
    return _moments(y, density * count * below ** (count - 1), f"the maximum of {count}")


@cache
def nodes() -> tuple[Tensor, Tensor]:
    """Return the nodes y and the density of N(0, 1) there times the weight of each node."""
    at, weight = np.polynomial.legendre.leggauss(NODES)
    half = REACH / PANELS
    middles = np.linspace(-REACH + half, REACH - half, PANELS)
    y = (middles[:, None] + half * at).ravel()
    density = np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi) * np.tile(half * weight, PANELS)
    return torch.from_numpy(y), torch.from_numpy(density)


def _moments(values: Tensor, density: Tensor, name: str) -> tuple[float, float]:
    mean = float((density * values).sum())
    std = float((density * (values - mean).square()).sum().sqrt())
    if not std > 1e-6:
        raise ValueError(f"{name} is constant under N(0, 1): nothing to normalize")
    return mean, std
