"""Positional normalization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32, check_eps
from normexp.norms.recompute import recomputed


class PositionNorm(nn.Module):
    """Normalize the channels at each position of each sample; `weight` and `bias` have shape (C,)."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(self, num_features: int, eps: float, affine: bool) -> None:
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.register_parameter("weight", nn.Parameter(torch.ones(num_features)) if affine else None)
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_features)) if affine else None)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] == 1:
            raise ValueError(
                "positional normalization needs more than one value per position, that is more than one channel, "
                f"input has shape {tuple(x.shape)}"
            )
        affine = [] if self.weight is None or self.bias is None else [self.weight, self.bias]
        # In half precision layer_norm would keep a float32 copy of x.
        return recomputed(self.normalized, x, *affine) if x.itemsize < 4 else self.normalized(x, *affine)

    def normalized(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        last = x.movedim(1, -1)
        y = F.layer_norm(at_least_float32(last), (x.shape[1],), weight, bias, self.eps).to(x.dtype).movedim(-1, 1)
        return y if last.is_contiguous() else y.contiguous()  # the layout of x

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, affine={self.weight is not None}"


@dataclass(frozen=True, kw_only=True)
class PositionalNorm(Norm):
    """Mean and variance over the channels at each position of each sample.

    y = (x - mean) / sqrt(var + eps), biased variance over the C channels; with `affine` then times weight plus
    bias. On (N, C) this is layer normalization; in `channels_last` it is torch's kernel for it, nothing copied.
    Training and evaluation use the same formula; no sample depends on another.
    The paper's moment shortcut, which feeds the removed mean and deviation to a later layer, needs two places in
    the network at once and is not included: what is removed here is gone.

    Args:
        eps: added to the variance inside the root.
        affine: learn `weight` (starts at 1) and `bias` (starts at 0); the paper has none.
        placement: `pre` normalizes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *), C > 1.

    Raises:
        ValueError: if there is a single channel.

    Source: Li, Wu, Weinberger & Belongie 2019, arXiv:1907.04312, section 3 [place from memory].
    Differs: no moment shortcut; biased variance, where the authors' torch code divides by C - 1.
    """

    eps: float = 1e-5
    affine: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_eps(self.eps)

    def activation(self, num_features: int) -> nn.Module:
        return PositionNorm(num_features, self.eps, self.affine)
