"""A scale and a shift per channel, as most schemes learn them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn, ones, zeros

from normexp.norms.kernels.moments import multiply_add

# For a variance that needs no eps: a GPU's kernel refuses 0, and beside any deviation this changes no bit.
NOTHING = 1e-30


def scaled_and_shifted(y: Tensor, affine: Sequence[Tensor]) -> Tensor:
    """Return y: (N, C, *) times weight plus bias, each (C,); y as it is where neither is learned."""
    return multiply_add(y, *affine) if affine else y


class PerChannel(nn.Module):
    """A module on (N, C, *) with `weight` and `bias`: (C,), each None where it is not learned.

    Its text shows C and every number or word that it was made with.
    """

    weight: nn.Parameter | None
    bias: nn.Parameter | None
    gains_from_compile: ClassVar[bool | str] = False  # by `compile=norms`: True, or `vectors` for (N, C) alone

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features

    def learn(self, weight: bool, bias: bool) -> None:
        """Learn a weight that starts at 1 and a bias that starts at 0, where they are wanted."""
        self.register_parameter("weight", nn.Parameter(ones(self.num_features)) if weight else None)
        self.register_parameter("bias", nn.Parameter(zeros(self.num_features)) if bias else None)

    @property
    def affine(self) -> list[Tensor]:
        """Weight and bias, or nothing."""
        return [] if self.weight is None or self.bias is None else [self.weight, self.bias]

    def extra_repr(self) -> str:
        told = {key: value for key, value in vars(self).items() if isinstance(value, int | float | str)}
        parts = [f"{key}={value}" for key, value in told.items() if key not in ("num_features", "training")]
        affine = self.weight is not None or self.bias is not None
        return ", ".join([str(self.num_features), *parts, f"affine={affine}"])
