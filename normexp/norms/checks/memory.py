"""What a scheme keeps between forward and backward."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.checks.subject import refuses_maps, reproducible

MAPS, VECTORS = (32, 64, 16, 16), (8192, 64)  # so many of each channel


def kept_relative_to_batch_norm(norm: Norm) -> float:
    """Return the bytes kept for backward beyond a plain block's, as a share of what batch norm adds.

    A block is a 3 x 3 convolution, the scheme and a ReLU on float32 (32, 64, 16, 16), or a linear layer on as many
    vectors where the scheme refuses maps. Batch norm adds the layer's output once and two numbers per channel.
    A tensor that autograd saves counts once per storage, and not at all if it is the block's input, a parameter or
    a buffer.
    """
    shape = VECTORS if refuses_maps(norm) else MAPS
    kept, plain, batch_norm = (kept_bytes(each, shape) for each in (norm, Norm(), BatchNorm()))
    return (kept - plain) / (batch_norm - plain)


def kept_bytes(norm: Norm, shape: Sequence[int] = MAPS) -> int:
    """Return the bytes that a block keeps for backward and that nothing else keeps."""
    channels = shape[1]
    layer = nn.Linear(channels, channels) if len(shape) == 2 else nn.Conv2d(channels, channels, 3, padding=1)
    with reproducible():
        block = norm.block(layer, nn.ReLU())
        return kept_by(block, torch.randn(*shape, requires_grad=True))


def kept_by(model: nn.Module, x: Tensor) -> int:
    """Return the bytes that the model keeps for backward of x beyond x, its parameters and its buffers."""
    alive = {storage(tensor) for tensor in (x, *model.parameters(), *model.buffers())}
    kept: list[Tensor] = []  # held until all are counted, so that no address is used twice

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = model(x)
    sizes = {storage(tensor): tensor.untyped_storage().nbytes() for tensor in kept}
    del result
    return sum(size for place, size in sizes.items() if place not in alive)


def storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
