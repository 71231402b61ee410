"""Functions of each value whose kernels in torch are slow on some processors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SMALL = 0.625  # below it tanh is a polynomial: 1 - 2 / (exp(2 x) + 1) would lose digits there
ODD = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)  # x^11 down to x^3


def tanh(x: Tensor) -> Tensor:
    """Return tanh of x, to 1.3 units in the last place; outside of autograd by oneDNN where torch has it.

    For float32 in memory order torch asks MKL, which takes over three times as long on an AMD EPYC, copies counted.
    What a compiler fuses is `FusedTanh`.
    """
    if torch.compiler.is_compiling() and not torch.compiler.is_exporting() and x.is_cpu and x.dtype == torch.float32:
        y: Tensor = FusedTanh.apply(x)
        return y
    dense = x.is_contiguous() or x.movedim(1, -1).is_contiguous()
    if torch.is_grad_enabled() or not x.is_cpu or x.dtype != torch.float32 or not dense or not x.numel():
        return x.tanh()
    if not torch.backends.mkldnn.is_available() or torch._C._functorch.is_batchedtensor(x):  # of a stack of runs
        return x.tanh()
    values = x.as_strided((x.numel(),), (1,), x.storage_offset())
    found = torch.tanh(values.to_mkldnn()).to_dense()
    return found.as_strided(x.shape, x.stride())


class FusedTanh(torch.autograd.Function):
    """tanh of float32 values, to 1.3 units in the last place, in operators that a compiler puts into one loop.

    Its own tanh is a call of a library for every few values, which takes longer than all of these.

    Source: the polynomial and its bound are those of tanhf in Moshier's Cephes library.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        size, square = x.abs(), x * x
        small = torch.full_like(x, ODD[0])
        for factor in ODD[1:]:
            small = small * square + factor
        y = torch.where(size < SMALL, size + size * (small * square), 1 - 2 / (torch.exp(2 * size) + 1)).copysign(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grads[0] * (1 - y * y)
