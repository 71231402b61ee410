"""Functions of each value whose kernels in torch are slow on some processors."""

from __future__ import annotations

import torch
from torch import Tensor


def tanh(x: Tensor) -> Tensor:
    """Return tanh of x, to 1.3 units in the last place; outside of autograd by oneDNN where torch has it.

    For float32 in memory order torch asks MKL, which takes over three times as long on an AMD EPYC, copies counted.
    """
    dense = x.is_contiguous() or x.movedim(1, -1).is_contiguous()
    if torch.is_grad_enabled() or not x.is_cpu or x.dtype != torch.float32 or not dense or not x.numel():
        return x.tanh()
    if not torch.backends.mkldnn.is_available():
        return x.tanh()
    values = x.as_strided((x.numel(),), (1,), x.storage_offset())
    found = torch.tanh(values.to_mkldnn()).to_dense()
    return found.as_strided(x.shape, x.stride())
