"""Mixed precision in bfloat16 on a CPU, at the speed of float32 where the processor has no instructions for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

# What autocast computes in bfloat16 on a CPU. With AVX2 alone torch's kernels take ten times (convolutions) to forty
# times (matrix products) as long as those for float32.
PRODUCTS: frozenset[Callable[..., Any]] = frozenset({
    *(F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
    *(F.linear, F.scaled_dot_product_attention, F.multi_head_attention_forward, torch.einsum),
    *(torch.matmul, Tensor.matmul, Tensor.__matmul__, Tensor.__rmatmul__, torch.mm, Tensor.mm, torch.bmm, Tensor.bmm),
    *(torch.addmm, Tensor.addmm, torch.baddbmm, Tensor.baddbmm),
})  # fmt: skip


@cache
def has_bfloat16_kernels(device: torch.device) -> bool:
    """Whether a device has instructions for products in bfloat16, and of processors also oneDNN the kernels for them.

    Where there is AVX-512 without them oneDNN has kernels, too, which are slower than those for float32.
    """
    if device.type != "cpu":
        return True
    if not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        return False
    instructions = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return instructions or not torch.cpu._is_avx512_supported()


def bfloat16_autocast(device: torch.device) -> Callable[[], AbstractContextManager[object]]:
    """Return what makes the context in which a device computes in bfloat16 where that is safe."""
    if has_bfloat16_kernels(device):
        return partial(torch.autocast, device.type, torch.bfloat16)
    return bfloat16_in_float32


@contextmanager
def bfloat16_in_float32() -> Iterator[None]:
    """Autocast to bfloat16, with products and convolutions computed in float32 of the same rounded values.

    Factors, results and gradients are rounded to bfloat16 where autocast rounds them, and a product of two bfloat16
    numbers is exact in float32, in which instructions for bfloat16 add up, too: what differs is the order of the sum.
    Of a weight that a pass uses several times (recurrent, shared) the gradients are rounded one by one and added up in
    float32, where autocast, which keeps the rounded weight, adds them up in bfloat16.
    Attention is rounded before and after, not in between; torch's recurrent layers are left to torch's kernels.
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
            return tree_map_only(Tensor, _result, func(*args, **kwargs))


def _result(y: Tensor) -> Tensor:
    return y.bfloat16() if y.dtype == torch.float32 else y


def _rounded(x: Tensor) -> Tensor:
    """Return the bfloat16 number next to each float; as autocast, leave doubles, integers and truth values alone."""
    return x.bfloat16().float() if x.is_floating_point() and x.dtype != torch.float64 else x
