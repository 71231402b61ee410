"""The small Inception of the generalization experiments on CIFAR-10."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from normexp.models.activations import activation as make_activation
from normexp.models.images import at_width
from normexp.models.output import output_layer
from normexp.norms.base import Norm

# (a, b): an inception module with a 1x1 and b 3x3 filters; b: a downsampling module with b filters
MODULES = ((32, 32), (32, 48), 80, (112, 48), (96, 64), (80, 80), (48, 96), 96, (176, 160), (176, 160))


class InceptionSmall(nn.Module):
    """Nineteen 3x3 and 1x1 convolutions, most of them side by side in pairs; global average, linear.

        conv 3x3 (96) - 2 inception - downsampling - 4 inception - downsampling - 2 inception - average - linear

    An inception module joins the channels of a 1x1 and a 3x3 convolution of the same input, a downsampling module
    those of a 3x3 convolution and a 3x3 maximum, both of stride 2. Every convolution is followed by normalization and
    activation. With its convolutions' biases the network has 1,649,402 weights (width 1, 10 classes, 3 channels).

    Eleven blocks in a row and no path around them: norm=dynamic_tanh needs alpha near 1, weight_standard a scheme on
    the activations beside it (stack), and spectral alone lets hardly anything through.

    Args:
        width: multiplies the number of filters everywhere.
        dropout: probability of setting a channel's average to zero before the output layer.

    Shape: (N, C, H, W) -> (N, num_outputs). The average is over all positions, 7 x 7 of them at 28 x 28 pixels.
    Source: Zhang, Bengio, Hardt, Recht & Vinyals 2017, arXiv:1611.03530. The layers have, together,
    the published number of weights; the drawing itself was not at hand.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        width: float = 1.0,
        dropout: float = 0.0,
        activation: str = "relu",
        normalize_output: bool = False,
    ) -> None:
        super().__init__()

        def conv(c_in: int, c_out: int, size: int, stride: int = 1) -> nn.Module:
            return norm.block(nn.Conv2d(c_in, c_out, size, stride, padding=size // 2), make_activation(activation))

        def scaled(filters: int) -> int:
            return at_width(filters, width)

        channels = scaled(96)
        stages = [conv(input_shape[0], channels, 3)]
        for module in MODULES:
            if isinstance(module, tuple):
                one, three = map(scaled, module)
                stages.append(SideBySide(conv(channels, one, 1), conv(channels, three, 3)))
                channels = one + three
            else:
                down = scaled(module)
                stages.append(SideBySide(conv(channels, down, 3, 2), norm.pool(nn.MaxPool2d(3, 2, padding=1))))
                channels += down
        self.features = nn.Sequential(*stages)
        self.dropout = nn.Dropout(dropout)
        self.output = output_layer(nn.Linear(channels, num_outputs), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.dropout(self.features(x).mean((2, 3))))


class SideBySide(nn.Module):
    """Two paths from one input; their channels are joined: (N, C, H, W) -> (N, C1 + C2, H', W')."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.first(x), self.second(x)], dim=1)
