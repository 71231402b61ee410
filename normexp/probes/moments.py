"""Means and standard deviations of what enters every nonlinearity and every layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.probes.base import Probe, Reading, Situation, inputs_of
from normexp.probes.layers import channel_dim, layers, nonlinearities


@dataclass(frozen=True, kw_only=True)
class Moments(Probe):
    """Mean and standard deviation of what enters every nonlinearity and every Linear and Conv layer.

    Over all values: `mean`, `std`. Of each unit over examples and positions: `unit_mean_abs`, the average of
    |mean| over units; `unit_std_mean` and `unit_std_spread`, average and standard deviation of the units'
    standard deviations. All deviations are biased.

    Args:
        count: number of test examples, the same at every evaluation.

    What enters `nonlinearity N` is the (normalized) output of a layer; what enters a layer, which is named by
    its module path, is the output of the layer before it. Measured in evaluation mode. Channels are dimension 1,
    the last one of a Linear layer's input. A scheme that replaces the nonlinearity by one of its own (EvoNorm,
    filter response normalization, dynamic tanh) leaves the layers' inputs to be read.

    Source: what Ioffe & Szegedy 2015, arXiv:1502.03167, call internal covariate shift is a change of these
    numbers; Arpit et al. 2016, arXiv:1603.01431, look at the mean of hidden layers' inputs over training.
    """

    count: int = 1000

    def measure(self, situation: Situation) -> list[Reading]:
        model, (x, _) = situation.model, situation.test(self.count)
        parts = {**nonlinearities(model), **layers(model)}
        return [
            (name, statistic, value)
            for name, entering in inputs_of(model, parts, x).items()
            for statistic, value in moments(entering.movedim(channel_dim(parts[name]), 0)).items()
        ]


def moments(x: Tensor) -> dict[str, float]:
    """Return the statistics of x: (C, ...), one row per unit."""
    units = x.flatten(1).float()
    std, mean = torch.std_mean(units, 1, correction=0)
    found = {
        "mean": units.mean(),
        "std": units.std(correction=0),
        "unit_mean_abs": mean.abs().mean(),
        "unit_std_mean": std.mean(),
        "unit_std_spread": std.std(correction=0),
    }
    return {statistic: float(value) for statistic, value in found.items()}
