"""The largest singular value of a weight by power iteration, for the two schemes that bound it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor

WARM_UP = 15  # steps that bring a random vector near the leading singular vector


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return the weight as a matrix (output channels, all that enters one)."""
    return weight.movedim(dim, 0).flatten(1)


def first_vector(matrix: Tensor) -> Tensor:
    """Return the u that an iteration starts from: normal numbers, the same for every matrix of so many rows.

    They come from a generator of their own: what a network draws beside and after it is the same under every scheme.
    """
    drawn = torch.randn(len(matrix), generator=torch.Generator().manual_seed(0), device="cpu")
    return drawn.to(matrix)


@torch.no_grad()
def power_step(matrix: Tensor, u: Tensor, eps: float, steps: int = 1) -> tuple[Tensor, Tensor]:
    """Return u and v, nearer by `steps` to the leading left and right singular vectors than the u given.

    Of zeros, which have no singular vectors, u is the one given: as zeros it would stay so under every later matrix.
    """
    if matrix.is_meta:  # has no values to be nearer to, and every operation on it takes Python a millisecond
        return u, torch.empty_like(matrix[0])
    given = u
    with full_precision(matrix):
        for _ in range(steps):
            v = F.normalize(torch.mv(matrix.T, u), dim=0, eps=eps)
            u = F.normalize(torch.mv(matrix, v), dim=0, eps=eps)
    return u.where(u.any(), given), v


def singular_value(matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """Return u W v, whose gradient is the outer product of u and v, both constants."""
    with full_precision(matrix):
        return torch.dot(u, torch.mv(matrix, v))


def full_precision(x: Tensor) -> AbstractContextManager[object]:
    """Switch autocast off, which on CUDA runs `mv` in half precision: the iteration would stop far from its end."""
    return nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False)
