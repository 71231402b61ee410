"""PyTorch's initialization as it was when gains began at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from normexp.models.init.default import Default
from normexp.seeding import generator


@dataclass(frozen=True, kw_only=True)
class UniformGain(Default):
    """As `default`, and every gain that else begins at 1 uniform in (0, 1), as batch norm's did in PyTorch up to 1.1.

    Programs written for it, of papers from before 2019, start so unless they set gains themselves. Here it is the same
    for every scheme whose modules have a `weight` of ones; each has a stream of its own, which belongs to its place.

    Source: torch.nn.BatchNorm1d of PyTorch 1.1; changed after pytorch/pytorch#12259.
    """

    keeps_own: ClassVar[bool] = False

    def apply(self, model: nn.Module, seed: int) -> None:
        super().apply(model, seed)
        for place, gain in enumerate(gains(model)):
            drawn = torch.empty(gain.shape).uniform_(generator=generator(seed, "gain", place))
            with torch.no_grad():
                gain.copy_(drawn)


def gains(model: nn.Module) -> Iterator[Tensor]:
    """Yield the gains: parameters `weight` that are all 1."""
    for module in model.modules():
        weight = module._parameters.get("weight")
        if weight is not None and bool(weight.eq(1).all()):
            yield weight
