"""Linear and softmax regression."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

from normexp.models.output import output_layer
from normexp.norms.base import Norm


class Linear(nn.Module):
    """W x + b on the flattened input.

    Args:
        normalize_output: let the scheme act on this layer too; it is the only one.

    Shape: (N, *input_shape) -> (N, num_outputs).
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        bias: bool = True,
        normalize_output: bool = False,
    ) -> None:
        super().__init__()
        self.output = output_layer(nn.Linear(math.prod(input_shape), num_outputs, bias=bias), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(x.flatten(1))
