"""Linear recursions over the examples of a batch, all at once."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def scan(decay: Tensor | float, increment: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Solve state[n + 1] = decay[n] state[n] + increment[n] over the first dimension, from `start`.

    Returns all states before their step, and the state after the last. Blocks of sqrt(N) steps go side by side, each
    from 0 and with the product of its decays, and are then put one behind the other: products and sums only, as in a
    loop over examples, so nothing is divided by a product that may be 0.

    Args:
        decay: (N, C), or one for all.
        increment: (N, C).
        start: (C,).
    """
    count, length = len(increment), math.isqrt(max(len(increment) - 1, 0)) + 1
    if isinstance(decay, float):
        decay = increment.new_full((count, 1), decay)
    decay, increment = in_blocks(decay, length, 1.0), in_blocks(increment, length, 0.0)
    product, state = (fused if torch.compiler.is_compiling() else steps)(decay, increment)
    starts = [start]
    for n in range(len(state)):
        starts.append(torch.addcmul(state[n, -1], product[n, -1], starts[-1]))
    state = state.addcmul_(product, torch.stack(starts[:-1]).unsqueeze(1))
    return state[:, :-1].flatten(0, 1)[:count], starts[-1]


def steps(decay: Tensor, increment: Tensor) -> tuple[Tensor, Tensor]:
    """Return each block's products of decays and its states from 0, before each of its steps and after the last."""
    length = decay.shape[1]
    product, state = decay.new_ones(len(decay), length + 1, decay.shape[2]), alike(increment, length + 1)
    for n in range(length):
        torch.mul(product[:, n], decay[:, n], out=product[:, n + 1])
        torch.addcmul(increment[:, n], decay[:, n], state[:, n], out=state[:, n + 1])
    return product, state


def fused(decay: Tensor, increment: Tensor) -> tuple[Tensor, Tensor]:
    """`steps` in values of their own, which a compiler puts into one loop; room that is written to it would copy."""
    product, state = [torch.ones_like(decay[:, 0])], [torch.zeros_like(increment[:, 0])]
    for n in range(decay.shape[1]):
        product.append(product[-1] * decay[:, n])
        state.append(torch.addcmul(increment[:, n], decay[:, n], state[-1]))
    return torch.stack(product, 1), torch.stack(state, 1)


def in_blocks(steps: Tensor, length: int, filler: float) -> Tensor:
    """Return steps: (N, C) as (blocks, length, C), the last block filled up."""
    missing = -len(steps) % length
    steps = F.pad(steps, (0, 0, 0, missing), value=filler) if missing else steps
    return steps.unflatten(0, (-1, length))


def alike(increment: Tensor, length: int) -> Tensor:
    """Return room for the states of every block, the first of which is 0."""
    state = increment.new_empty(len(increment), length, increment.shape[2])
    state[:, 0] = 0
    return state
