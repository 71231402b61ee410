"""What a scheme keeps between forward and backward."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.checks.subject import reproducible

SHAPE = (32, 64, 16, 16)


def kept_relative_to_batch_norm(norm: Norm) -> float:
    """Return the bytes kept for backward beyond a plain block's, as a share of what batch norm adds.

    A block is a 3 x 3 convolution, the scheme and a ReLU on float32 (32, 64, 16, 16). Batch norm adds the
    convolution's output once and two numbers per channel. A tensor that autograd saves counts once per
    storage, and not at all if it is the block's input, a parameter or a buffer.
    """
    plain = kept_bytes(Norm())
    return (kept_bytes(norm) - plain) / (kept_bytes(BatchNorm()) - plain)


def kept_bytes(norm: Norm) -> int:
    """Return the bytes that a block keeps for backward and that nothing else keeps."""
    channels = SHAPE[1]
    with reproducible():
        block = norm.block(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())
        return kept_by(block, torch.randn(SHAPE, requires_grad=True))


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
