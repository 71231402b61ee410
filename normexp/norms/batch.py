"""Batch normalization."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from normexp.norms.base import Norm


class AnyRankBatchNorm(nn.modules.batchnorm._BatchNorm):
    """torch's batch normalization (its parameters, buffers and kernels) on (N, C, *) of any rank."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"batch normalization needs an (N, C, *) input, not {tuple(input.shape)}")


@dataclass(frozen=True, kw_only=True)
class BatchNorm(Norm):
    """Mean and variance of each channel over the batch and all positions.

    y = weight (x - mean) / sqrt(var + eps) + bias, with weight = gamma and bias = beta of the paper.
    Training uses the batch's mean and biased variance, and moves running estimates towards the batch's mean
    and unbiased variance; evaluation uses the running estimates, a fixed affine map per channel.

    Args:
        eps: added to the variance inside the root.
        momentum: weight of the new batch in the running estimates (1 - momentum of the old ones).
        affine: learn `weight` (starts at 1) and `bias` (starts at 0).
        placement: `pre` normalizes W x as in the paper, `post` the nonlinearity's output.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2, section 3.2 for convolutions.
    Differs: the paper averages population statistics after training; here, as in torch, they are running
    averages.
    """

    eps: float = 1e-5
    momentum: float = 0.1
    affine: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.eps > 0:
            raise ValueError(f"eps must be above 0, not {self.eps}")
        if not 0 < self.momentum <= 1:
            raise ValueError(f"momentum must be in (0, 1], not {self.momentum}")

    @property
    def cancels_bias(self) -> bool:
        return True

    def activation(self, num_features: int) -> nn.Module:
        return AnyRankBatchNorm(num_features, self.eps, self.momentum, self.affine)
