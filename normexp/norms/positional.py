"""Positional normalization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.moments import scale_shift
from normexp.norms.options import positive


class PositionNorm(PerChannel):
    """Normalize the channels at each position of each sample; `weight` and `bias` have shape (C,)."""

    def __init__(self, num_features: int, eps: float, affine: bool) -> None:
        super().__init__(num_features)
        self.eps = eps
        self.learn(affine, affine)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] == 1:
            raise ValueError(
                "positional normalization needs more than one value per position, that is more than one channel, "
                f"input has shape {tuple(x.shape)}"
            )
        if x.itemsize >= 4:
            return along_channels(x, self.weight, self.bias, self.eps)
        # Factors in float32 make a CPU's kernel keep mean and deviation in float32 too, as CUDA's always does; but
        # it would sum their gradients in x's type, so they are not the layer's own.
        ones, zeros = (None if x.is_cuda else make(x.shape[1], device=x.device) for make in (torch.ones, torch.zeros))
        y = along_channels(x, ones, zeros, self.eps)
        return scale_shift(y, *self.affine) if self.affine else y


def along_channels(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Normalize the last dimension of x with its channels moved there; the result has the layout of x."""
    last = x.movedim(1, -1)
    # Not F.layer_norm, of which autocast makes one that copies x to float32 and keeps the copy.
    y = torch.native_layer_norm(last, (x.shape[1],), weight, bias, eps)[0].movedim(-1, 1)
    return y if last.is_contiguous() else y.contiguous()


@dataclass(frozen=True, kw_only=True)
class PositionalNorm(Norm):
    """Mean and variance over the channels at each position of each sample.

    y = (x - mean) / sqrt(var + eps), biased variance over the C channels; with `affine` then times weight plus
    bias. On (N, C) this is layer normalization; in `channels_last` it is torch's kernel for it, nothing copied.
    Training and evaluation use the same formula; no sample depends on another.
    The paper's moment shortcut, which feeds the removed mean and deviation to a later layer, needs two places in
    the network at once and is not included: what is removed here is gone.

    Args:
        affine: learn `weight` (starts at 1) and `bias` (starts at 0); the paper has none.

    Shape: (N, C, *) -> (N, C, *), C > 1.

    Raises:
        ValueError: if there is a single channel.

    Source: Li, Wu, Weinberger & Belongie 2019, arXiv:1907.04312.
    Differs: no moment shortcut; biased variance, where the authors' torch code divides by C - 1.
    """

    eps: float = positive(1e-5)
    affine: bool = False

    def normalization(self, num_features: int) -> nn.Module:
        return PositionNorm(num_features, self.eps, self.affine)
