"""Ghost batch normalization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm
from normexp.norms.kernels.batched import AnyRankBatchNorm
from normexp.norms.options import at_least, positive, share


class ChunkedBatchNorm(AnyRankBatchNorm):
    """In training, torch's batch normalization on one chunk of the batch after the other."""

    def __init__(self, num_features: int, chunk_size: int, eps: float, momentum: float, affine: bool) -> None:
        super().__init__(num_features, eps, momentum, affine)
        self.chunk_size = chunk_size

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or len(input) <= self.chunk_size:
            return super().forward(input)
        sizes = chunk_sizes(len(input), self.chunk_size, alone=input[0].numel() > input.shape[1])
        return torch.cat([super(ChunkedBatchNorm, self).forward(chunk) for chunk in input.split(sizes)])

    def extra_repr(self) -> str:
        return f"chunk_size={self.chunk_size}, {super().extra_repr()}"


def chunk_sizes(batch_size: int, chunk_size: int, alone: bool) -> list[int]:
    """Return sizes that add up to the batch; a last chunk of 1 joins the one before unless it can stand alone."""
    full, rest = divmod(batch_size, chunk_size)
    sizes = [chunk_size] * full
    if rest == 1 and not alone:
        sizes[-1] += 1
    elif rest:
        sizes.append(rest)
    return sizes


@dataclass(frozen=True, kw_only=True)
class GhostBatchNorm(Norm):
    """Batch normalization over chunks of the batch, which keeps the noise of a small batch in a large one.

    y = weight (x - mean) / sqrt(var + eps) + bias, with weight = gamma and bias = beta; mean and biased variance
    of each channel over all positions of `chunk_size` neighbouring examples.
    Training uses the chunk's statistics, and every chunk in turn moves the running estimates (towards its mean
    and unbiased variance), so the last chunk weighs most; evaluation uses the running estimates.
    `num_batches_tracked` counts chunks.

    Args:
        chunk_size: examples per chunk; the last chunk may be smaller. One chunk is batch normalization.
        momentum: weight of the new chunk in the running estimates.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if a chunk holds one value per channel. A single example left over for the last
            chunk joins the chunk before it instead.

    Source: Hoffer, Hubara & Soudry 2017, arXiv:1705.08741; the authors' code sends one chunk after the
    other through the network, which is the same.
    Differs: default chunks of 32 examples; the authors use 128 in batches of 4,096.
    """

    chunk_size: int = at_least(1, 32)
    eps: float = positive(1e-5)
    momentum: float = share(0.1)
    affine: bool = True
    cancels_bias = True

    def normalization(self, num_features: int) -> nn.Module:
        return ChunkedBatchNorm(num_features, self.chunk_size, self.eps, self.momentum, self.affine)
