"""Mean and deviation for test time, from the statistics of batches: the ways that papers and notes propose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.kernels.batched import channel_statistics
from normexp.norms.networks.trial import hooked


@dataclass(frozen=True)
class Statistics:
    """Of one batch, or estimated for test time; every channel of every normalization, one after the other.

    Args:
        mean, var: (C,) in float64; the variance is biased in a batch.
        count: (C,) values per channel.
    """

    mean: Tensor
    var: Tensor
    count: Tensor

    @property
    def std(self) -> Tensor:
        return self.var.sqrt()


def observed(layers: Sequence[nn.Module], forward: Callable[[], object]) -> Statistics:
    """Return the statistics of what enters each of the layers while `forward` runs."""
    found: dict[nn.Module, tuple[Tensor, Tensor, int]] = {}

    def record(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        x = inputs[0].detach()
        found[layer] = (*channel_statistics(x), x.numel() // x.shape[1])

    with hooked(layer.register_forward_pre_hook(record) for layer in layers):
        forward()
    means, variances, counts = zip(*(found[layer] for layer in layers), strict=True)
    full = [torch.full_like(mean, count) for mean, count in zip(means, counts, strict=True)]
    return Statistics(*(torch.cat(list(each)).double() for each in (means, variances, full)))


def average(batches: Sequence[Statistics], unbiased: bool) -> Statistics:
    """Return the averages of batch means and variances.

    Args:
        unbiased: times m / (m - 1), for m values per channel in a batch.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, algorithm 2.
    """
    mean = torch.stack([batch.mean for batch in batches]).mean(0)
    var = torch.stack([batch.var for batch in batches]).mean(0)
    count = batches[0].count
    return Statistics(mean, var * count / (count - 1) if unbiased else var, count)


def exponential(batches: Sequence[Statistics], momentum: float, of: str, start: float) -> Statistics:
    """Return exponential averages, the mean's from a start of 0.

    Args:
        momentum: weight of the new batch, as in torch.
        of: `variance` averages unbiased variances, as torch does; `deviation` averages biased deviations.
        start: of the average variance, or deviation.
    """
    count = batches[0].count
    mean, spread = torch.zeros_like(count), torch.full_like(count, start)
    for batch in batches:
        mean = mean.lerp(batch.mean, momentum)
        spread = spread.lerp(batch.std if of == "deviation" else batch.var * count / (count - 1), momentum)
    return Statistics(mean, spread.square() if of == "deviation" else spread, count)
