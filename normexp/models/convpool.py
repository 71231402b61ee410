"""ConvPool-CNN-C, the CIFAR-10 network of the weight normalization paper."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from normexp.models.activations import activation as make_activation
from normexp.models.images import at_width, check_size
from normexp.models.output import output_layer
from normexp.norms.base import Norm


class ConvPool(nn.Module):
    """Nine convolutions in three groups, two max pools, global average, linear; noise and dropout in training.

        3 x conv 3x3 (96)  - pool - dropout - 3 x conv 3x3 (192) - pool - dropout
        - conv 3x3 (192, no padding) - 2 x conv 1x1 (192) - global average - linear

    Args:
        width: multiplies 96 and 192; at 1 the network has 1,405,344 weights (10 classes, 3 channels).
        noise: standard deviation of the Gaussian noise added to the input, in units of the normalized input.
        dropout: probability of setting a value to zero after each pool.
        activation: the paper's leaky_relu has slope 0.1 here.
        normalize_output: the scheme acts on the output layer too, as in the authors' code.

    Shape: (N, C, H, W) -> (N, num_outputs), H and W at least 12.
    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 5.1 and their released code.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        width: float = 1.0,
        noise: float = 0.15,
        dropout: float = 0.5,
        activation: str = "leaky_relu",
        normalize_output: bool = True,
    ) -> None:
        super().__init__()
        check_size("convpool", input_shape, 12)
        narrow, wide = at_width(96, width), at_width(192, width)

        def conv(c_in: int, c_out: int, size: int = 3, padding: int = 1) -> nn.Module:
            layer = nn.Conv2d(c_in, c_out, size, padding=padding)
            fn = nn.LeakyReLU(0.1) if activation == "leaky_relu" else make_activation(activation)
            return norm.block(layer, fn)

        self.features = nn.Sequential(
            GaussianNoise(noise),
            *(conv(input_shape[0], narrow), conv(narrow, narrow), conv(narrow, narrow)),
            *(norm.pool(nn.MaxPool2d(2)), nn.Dropout(dropout)),
            *(conv(narrow, wide), conv(wide, wide), conv(wide, wide)),
            *(norm.pool(nn.MaxPool2d(2)), nn.Dropout(dropout)),
            *(conv(wide, wide, padding=0), conv(wide, wide, 1, 0), conv(wide, wide, 1, 0)),
        )
        self.output = output_layer(nn.Linear(wide, num_outputs), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.features(x).mean((2, 3)))


class GaussianNoise(nn.Module):
    """Add N(0, std^2) in training, nothing in evaluation."""

    def __init__(self, std: float) -> None:
        super().__init__()
        self.std = std

    def forward(self, x: Tensor) -> Tensor:
        return x + self.std * torch.randn_like(x) if self.training and self.std > 0 else x

    def extra_repr(self) -> str:
        return f"std={self.std}"
