"""A squashing function of numbers that the layer learns, in place of normalization."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.recompute import Function, Gradient, pointwise


class Squashing(PerChannel):
    """`squash(x, *numbers, weight, bias)`, of values alone; its backward is `squash_gradient`, as for `pointwise`.

    Args:
        num_features: C.
        affine: learn a scale and a shift per channel.
        starts: the numbers, of which the layer has one each, by name.
    """

    gains_from_compile = True
    squash: ClassVar[Function]
    squash_gradient: ClassVar[Gradient]

    def __init__(self, num_features: int, affine: bool, **starts: float) -> None:
        super().__init__(num_features)
        self.numbers = tuple(starts)
        for name, start in starts.items():
            self.register_parameter(name, nn.Parameter(torch.tensor(start)))
        self.learn(affine, affine)

    def forward(self, x: Tensor) -> Tensor:
        numbers = [getattr(self, name) for name in self.numbers]
        return pointwise(self.squash, self.squash_gradient, x, *numbers, *self.affine)
