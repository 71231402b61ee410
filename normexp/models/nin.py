"""Network in Network for CIFAR, on which normalization propagation was tried."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from normexp.models.activations import activation as make_activation
from normexp.models.images import at_width, check_size
from normexp.norms.base import Norm


class NIN(nn.Module):
    """Three convolutions, each followed by two of 1x1; maps of the classes, averaged, are the outputs.

        conv 5x5 (192)   - 1x1 (160) - 1x1 (96)  - max pool     - dropout
        - conv 5x5 (192) - 1x1 (192) - 1x1 (192) - average pool - dropout
        - conv 3x3 (192) - 1x1 (192) - 1x1 (classes) - global average

    Both pools are 3x3 with stride 2 and reach over the border, as in Caffe: 32 x 32 pixels become 16 x 16 and 8 x 8.

    Args:
        width: multiplies every number of channels but the classes'; at 1 the network has 965,568 weights (10 classes,
            3 channels).
        dropout: probability of setting a value to zero after each pool.
        output_activation: the activation follows the maps of the classes too, as in the authors' public model; the
            second author of normalization propagation leaves it out.
        normalize_output: the scheme acts on the layer of the classes too.
        standardize_batches: standardize every channel of the inputs over the batch, with running estimates in
            evaluation: the batch-wise data normalization of Arpit et al., as Laurent, Ballas & Vincent describe it in
            "Recurrent Normalization Propagation". Leave `inputs` at none for it.

    Shape: (N, C, H, W) -> (N, num_outputs), H and W at least 4.
    Source: Lin, Chen & Yan 2014, arXiv:1312.4400, and their public model for CIFAR-10.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        width: float = 1.0,
        dropout: float = 0.5,
        activation: str = "relu",
        output_activation: bool = True,
        normalize_output: bool = False,
        standardize_batches: bool = False,
    ) -> None:
        super().__init__()
        check_size("nin", input_shape, 4)
        narrow, middle, wide = (at_width(channels, width) for channels in (96, 160, 192))

        def conv(c_in: int, c_out: int, size: int = 1) -> nn.Module:
            layer = nn.Conv2d(c_in, c_out, size, padding=size // 2)
            return norm.block(layer, make_activation(activation))

        self.inputs = nn.BatchNorm2d(input_shape[0], affine=False) if standardize_batches else nn.Identity()
        self.features = nn.Sequential(
            *(conv(input_shape[0], wide, 5), conv(wide, middle), conv(middle, narrow)),
            *(norm.pool(nn.MaxPool2d(3, 2, ceil_mode=True)), nn.Dropout(dropout)),
            *(conv(narrow, wide, 5), conv(wide, wide), conv(wide, wide)),
            *(norm.pool(nn.AvgPool2d(3, 2, ceil_mode=True)), nn.Dropout(dropout)),
            *(conv(wide, wide, 3), conv(wide, wide)),
        )
        layer = nn.Conv2d(wide, num_outputs, 1)
        fn = make_activation(activation) if output_activation else None
        self.output = norm.block(layer, fn) if normalize_output else nn.Sequential(layer, *([fn] if fn else []))

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.features(self.inputs(x))).mean((2, 3))
