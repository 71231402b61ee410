"""Group normalization by torch's fused kernel, kept accurate and quick in every memory format.

Layer, instance and group normalization are one formula with different groups, so they share this module.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.norms.base import at_least_float32
from normexp.norms.kernels.batched import is_far
from normexp.norms.kernels.by_sample import pays, standardized, statistics
from normexp.norms.kernels.layout import is_channels_last, like, num_positions

# torch's channels-last kernel on a CPU takes the variance as E[x^2] - E[x]^2: its relative error is about
# 1e-6 mean^2/var. Above this ratio the kernel of the contiguous format (which does not cancel) is used
# instead.
MAX_RATIO = 100.0
FEW = 4  # channels of a group, below which that kernel goes through them value by value


def largest_divisor(number: int, limit: int) -> int:
    """Return the largest divisor of `number` that is not above `limit`."""
    return next(d for d in range(min(number, limit), 0, -1) if number % d == 0)


def check_groups(x: Tensor, num_groups: int) -> None:
    """Raise ValueError if a group of x: (N, C, *) holds a single value, whose variance says nothing."""
    if x.shape[1] * num_positions(x) == num_groups:
        raise ValueError(
            f"normalization over {num_groups} groups needs more than one value per group, "
            f"input has shape {tuple(x.shape)}"
        )


class GroupedNorm(nn.GroupNorm):
    """Normalize x: (N, C, *) over groups of channels of one sample; `weight` and `bias` have shape (C,).

    Raises:
        ValueError: if a group holds a single value, whose variance says nothing.
    """

    gains_from_compile: ClassVar[bool | str] = "vectors"  # on maps torch's kernel takes a sixth of the time

    def forward(self, x: Tensor) -> Tensor:
        check_groups(x, self.num_groups)
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


def group_norm(x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """`F.group_norm` with statistics in float32 at least, which keeps x's type and memory format."""
    if groups > 1 and pays(x):
        found = mean, var = statistics(x, groups)
        if not is_far(mean, (var + eps).rsqrt()):
            return standardized(x, weight, bias, found, eps, centred=True)
    half = x.itemsize < 4
    if half and (x.is_cuda or weight is None):  # else statistics in x's type, or an error
        weight, bias = (each if each is None else at_least_float32(each) for each in (weight, bias))
        return group_norm(at_least_float32(x), groups, weight, bias, eps).to(x.dtype)
    if x.is_cuda and x.dim() > 3 and is_channels_last(x):  # a GPU's kernel has the contiguous format alone
        return like(F.group_norm(x, groups, weight, bias, eps), x)
    # Of (N, C, L) torch makes a copy in any case; before torch 2.14 `native_group_norm` left it to its caller.
    if x.is_cuda or torch.compiler.is_compiling() or x.dim() < 4 or not is_channels_last(x):
        return F.group_norm(x, groups, weight, bias, eps)
    if groups == 1 or not (half or x.shape[1] < FEW * groups):
        sizes = (x.shape[0], x.shape[1], num_positions(x), groups)
        y, mean, rstd = torch.native_group_norm(x, weight, bias, *sizes, eps)
        if (mean * rstd).square().max() <= MAX_RATIO:
            return y
    # For half precision in several groups, and for groups of few channels, this detour is also 1.2 to 7 times faster.
    return like(F.group_norm(x.contiguous(), groups, weight, bias, eps), x)
