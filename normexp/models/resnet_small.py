"""The residual network of He et al. for CIFAR-10."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from normexp.models.activations import activation as make_activation
from normexp.models.images import at_width, check_size
from normexp.models.output import output_layer
from normexp.models.transformer.stream import Gain
from normexp.norms.base import Norm


class ResNetSmall(nn.Module):
    """conv 3x3 (16) - n blocks of 16 - n blocks of 32 - n blocks of 64 channels - global average - linear.

    A block adds two 3x3 convolutions to its input: y = fn(x + conv(fn(conv(x)))). The first block of the second and
    of the third stage halves the image. Shortcuts have no parameters. The scheme stands behind every convolution.

    Args:
        blocks: n, blocks a stage; the network has 6 n + 2 layers with weights. With 3 (ResNet-20), width 1 and batch
            normalization it has 269,722 parameters (10 classes, 3 channels).
        width: multiplies every number of channels.
        skipinit: multiply every block's sum by one learned number that begins at zero, so that the network begins as
            its shortcuts; what lets a residual network do without a scheme (De & Smith 2020, arXiv:2002.10444).

    Shape: (N, C, H, W) -> (N, num_outputs), H and W at least 4.
    Source: He, Zhang, Ren & Sun 2016, arXiv:1512.03385, section 4.2, with their option A for the shortcuts.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        blocks: int = 3,
        width: float = 1.0,
        activation: str = "relu",
        normalize_output: bool = False,
        skipinit: bool = False,
    ) -> None:
        super().__init__()
        check_size("resnet_small", input_shape, 4)
        narrow, middle, wide = (at_width(channels, width) for channels in (16, 32, 64))
        stem = nn.Conv2d(input_shape[0], narrow, 3, padding=1)
        layers: list[nn.Module] = [norm.block(stem, make_activation(activation))]
        for c_in, c_out, stride in ((narrow, narrow, 1), (narrow, middle, 2), (middle, wide, 2)):
            layers.append(Residual(c_in, c_out, stride, norm, activation, skipinit))
            layers += [Residual(c_out, c_out, 1, norm, activation, skipinit) for _ in range(blocks - 1)]
        self.features = nn.Sequential(*layers)
        self.output = output_layer(nn.Linear(wide, num_outputs), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.features(x).mean((2, 3)))


class Residual(nn.Module):
    """fn(x + conv(fn(conv(x)))): (N, c_in, H, W) -> (N, c_out, H / stride, W / stride), rounded up.

    Where the shapes differ, the shortcut takes every second pixel and adds channels of zeros. With `skipinit` the
    sum is times a learned number, at first 0.
    """

    def __init__(self, c_in: int, c_out: int, stride: int, norm: Norm, activation: str, skipinit: bool = False) -> None:
        super().__init__()
        self.stride, self.new_channels = stride, c_out - c_in
        first = nn.Conv2d(c_in, c_out, 3, stride, padding=1)
        self.first = norm.block(first, make_activation(activation))
        second = norm.block(nn.Conv2d(c_out, c_out, 3, padding=1))
        self.second = nn.Sequential(second, Gain(0.0)) if skipinit else second
        self.fn = make_activation(activation)

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(self.shortcut(x) + self.second(self.first(x)))

    def shortcut(self, x: Tensor) -> Tensor:
        """Return x in the shape of what is added to it."""
        x = x[:, :, :: self.stride, :: self.stride]
        return F.pad(x, (0, 0, 0, 0, 0, self.new_channels)) if self.new_channels else x
