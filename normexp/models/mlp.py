"""Multilayer perceptron."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from normexp.models.activations import activation as make_activation
from normexp.models.output import output_layer
from normexp.norms.base import Norm


class MLP(nn.Module):
    """Linear, normalization, activation; as often as there are widths; then a linear output layer.

    Args:
        widths: units of each hidden layer; an empty list is linear regression.
        normalize_output: let the scheme act on the output layer too.

    Shape: (N, *input_shape) -> (N, num_outputs).
    Source: with widths (100, 100, 100) and sigmoid, the network of Ioffe & Szegedy 2015, section 4.1.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        widths: Sequence[int] = (100, 100, 100),
        activation: str = "relu",
        normalize_output: bool = False,
    ) -> None:
        super().__init__()
        sizes = [math.prod(input_shape), *widths]
        self.hidden = nn.Sequential(
            *(norm.block(nn.Linear(d_in, d_out), make_activation(activation)) for d_in, d_out in pairwise(sizes))
        )
        self.output = output_layer(nn.Linear(sizes[-1], num_outputs), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.hidden(x.flatten(1)))
