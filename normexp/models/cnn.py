"""A small convolutional network that a reader can draw."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from normexp.models.activations import activation as make_activation
from normexp.models.output import output_layer
from normexp.norms.base import Norm


class CNN(nn.Module):
    """conv 3x3 - pool - conv 3x3 - pool - conv 3x3 - conv 3x3 - global average - linear.

    Each convolution is followed by normalization and activation; the pools are 2 x 2 maxima. With the default
    widths about 242,000 parameters. Works from 4 x 4 pixels on.

    Args:
        widths: channels of the convolutions.
        normalize_last: the scheme acts on the last convolution too, right in front of the global average. A scheme
            that removes every image's own mean or scale of a channel removes what that average reads.
        normalize_output: the scheme acts on the linear layer too.

    Shape: (N, C, H, W) -> (N, num_outputs).
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        widths: Sequence[int] = (32, 64, 128, 128),
        activation: str = "relu",
        normalize_last: bool = True,
        normalize_output: bool = False,
    ) -> None:
        super().__init__()
        if not widths:
            raise ValueError("model.widths=[]: give the channels of at least one convolution")
        stages: list[nn.Module] = []
        for index, (c_in, c_out) in enumerate(pairwise([input_shape[0], *widths])):
            conv = nn.Conv2d(c_in, c_out, kernel_size=3, padding=1)
            spared = index == len(widths) - 1 and not normalize_last
            stages.append((Norm() if spared else norm).block(conv, make_activation(activation)))
            if index < 2:
                stages.append(norm.pool(nn.MaxPool2d(2)))
        self.features = nn.Sequential(*stages)
        self.output = output_layer(nn.Linear(widths[-1], num_outputs), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.features(x).mean((2, 3)))
