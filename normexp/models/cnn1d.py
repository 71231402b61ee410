"""A small convolutional network for lines: one feature after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

from normexp.models.activations import activation as make_activation
from normexp.models.output import output_layer
from normexp.norms.base import Norm


class CNN1d(nn.Module):
    """Three convolutions over the features of an example, in steps of two, then a linear layer on what is left of them.

    The first has a window of 5, the others of 3; each is followed by normalization and activation. With the default
    `channels` and 40 features 5,210 parameters.

    Args:
        channels: of every convolution.
        normalize_output: the scheme acts on the linear layer too.

    Shape: (N, *input_shape) -> (N, num_outputs).
    Source: ConvBase of Greydanus & Kobak 2024, arXiv:2011.14439.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        channels: int = 25,
        activation: str = "relu",
        normalize_output: bool = False,
    ) -> None:
        super().__init__()
        length, stages = math.prod(input_shape), []
        if length < 3:
            raise ValueError(f"model=cnn1d needs 3 features or more, not {length}")
        for c_in, window in ((1, 5), (channels, 3), (channels, 3)):
            conv = nn.Conv1d(c_in, channels, window, stride=2, padding=1)
            stages.append(norm.block(conv, make_activation(activation)))
            length = (length + 2 - window) // 2 + 1
        self.features = nn.Sequential(*stages)
        self.output = output_layer(nn.Linear(channels * length, num_outputs), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.features(x.flatten(1).unsqueeze(1)).flatten(1))
