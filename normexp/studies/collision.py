"""Two different samples in two different batches that batch normalization makes equal."""

from __future__ import annotations

from torch import Tensor


def affine_batch(batch: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return scale * batch + shift, (N, C), for positive scales (C,): normalized over the batch both are equal."""
    return batch * scale + shift


def partner(z: Tensor, others: Tensor) -> Tensor:
    """Return the x, (C,), that batch normalization without eps turns into z, (C,), among the others, (N - 1, C).

    With m and v the mean and biased variance of the others, x = m + z sqrt(n v / (n - 1 - z^2)): there always is
    one, since in a batch of n no normalized value is beyond sqrt(n - 1). In a batch of two every x above the
    other one becomes +1; the x returned is at distance 1.
    """
    n = len(others) + 1
    if n == 2:
        return others[0] + z.sign()
    room = n - 1 - z.square()
    return others.mean(0) + z * (n * others.var(0, correction=0) / room).sqrt()
