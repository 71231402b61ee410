"""Mixed precision in bfloat16 on a CPU, at the speed of float32 where the processor has no instructions for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

# What autocast computes in bfloat16 on a CPU. Without instructions for it torch's kernels take ten times (convolutions)
# to forty times (matrix products) as long as those of float32.
PRODUCTS: frozenset[Callable[..., Any]] = frozenset({
    *(F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
    *(F.linear, F.scaled_dot_product_attention, torch.einsum),
    *(torch.matmul, Tensor.matmul, Tensor.__matmul__, Tensor.__rmatmul__, torch.mm, Tensor.mm, torch.bmm, Tensor.bmm),
    *(torch.addmm, Tensor.addmm, torch.baddbmm, Tensor.baddbmm),
})  # fmt: skip


@cache
def has_bfloat16_kernels() -> bool:
    """Whether oneDNN has convolutions and matrix products in bfloat16 for this processor."""
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@contextmanager
def bfloat16_in_float32() -> Iterator[None]:
    """Autocast to bfloat16, with products and convolutions computed in float32 of the same rounded values.

    Factors, results and gradients are rounded to bfloat16 where autocast rounds them, and a product of two bfloat16
    numbers is exact in float32, in which instructions for bfloat16 add up, too: what differs is the order of the sum.
    """
    with torch.autocast("cpu", torch.bfloat16), _ProductsInFloat32():
        yield


class _ProductsInFloat32(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func not in PRODUCTS or not torch.is_autocast_enabled("cpu"):
            return func(*args, **kwargs)
        args, kwargs = tree_map_only(Tensor, _rounded, (args, kwargs))
        with torch.autocast("cpu", enabled=False):
            y = func(*args, **kwargs)
        return y.bfloat16() if y.dtype == torch.float32 else y


def _rounded(x: Tensor) -> Tensor:
    """Return the bfloat16 number next to each float; as autocast, leave doubles, integers and truth values alone."""
    return x.bfloat16().float() if x.is_floating_point() and x.dtype != torch.float64 else x
