"""Variance and standard deviation of weights beside their mean, as a compiler takes them best."""

from __future__ import annotations

import torch
from torch import Tensor


def var_mean(weight: Tensor, dims: list[int], correction: int) -> tuple[Tensor, Tensor]:
    """Return `torch.var_mean` over dims, which are kept.

    For a compiler in two passes over values that are in the cache: what it makes of torch's one takes longer by half.
    """
    if not torch.compiler.is_compiling():
        return torch.var_mean(weight, dims, correction=correction, keepdim=True)
    mean = weight.mean(dims, keepdim=True)
    count = weight.numel() // mean.numel()
    return (weight - mean).square().sum(dims, keepdim=True) / (count - correction), mean


def std_mean(weight: Tensor, dims: list[int], correction: int) -> tuple[Tensor, Tensor]:
    """Return `torch.std_mean` over dims, which are kept; equal values have no gradient, as in torch."""
    if not torch.compiler.is_compiling():
        return torch.std_mean(weight, dims, correction=correction, keepdim=True)
    var, mean = var_mean(weight, dims, correction)
    return var.clamp(min=torch.finfo(var.dtype).tiny).sqrt(), mean
