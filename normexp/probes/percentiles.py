"""Percentiles of what enters a nonlinearity: internal covariate shift made visible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from normexp.probes.base import Probe, Reading, Situation, inputs_of
from normexp.probes.layers import nonlinearities

MOST = 2**24  # values that torch.quantile takes in some versions


@dataclass(frozen=True, kw_only=True)
class Percentiles(Probe):
    """Percentiles, over examples and positions, of the input to one unit of every nonlinearity.

    Args:
        unit: index of the unit or channel, along dimension 1 (modulo its size): of tokens (N, T, C) a position.
        at: the percentiles.
        count: number of test examples, the same at every evaluation.

    Layers are numbered from 1 in the order of the network; measured in evaluation mode.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, Figure 1 (b, c): 15th, 50th and 85th percentile for one
    typical sigmoid of the last hidden layer. Differs: they do not say on which data they measured.
    """

    unit: int = 0
    at: tuple[float, ...] = (15.0, 50.0, 85.0)
    count: int = 1000

    def measure(self, situation: Situation) -> list[Reading]:
        model, (x, _) = situation.model, situation.test(self.count)
        readings = []
        for name, entering in inputs_of(model, nonlinearities(model), x).items():
            values = entering[:, self.unit % entering.shape[1]].float().flatten()
            levels = quantiles(values, [p / 100 for p in self.at])
            readings += [(name, f"p{p:g}", level) for p, level in zip(self.at, levels, strict=True)]
        return readings


def quantiles(values: Tensor, shares: list[float]) -> list[float]:
    """Return the quantiles of float32 values: (N,), with linear interpolation; NaN if a value is."""
    if len(values) > MOST:
        return [float(level) for level in np.quantile(values.cpu().numpy(), shares)]
    return [float(level) for level in torch.quantile(values, torch.tensor(shares, device=values.device))]
