"""Decorrelated batch normalization."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.grouped import largest_divisor
from normexp.norms.kernels.moments import over_positions, scale_shift
from normexp.norms.options import at_least, positive, share


def eigen(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors; a variance below the rounding of the largest counts as infinite.

    The covariance of 16 channels computed from 9 pixels has rank 9: rounding makes the other eigenvalues tiny, of
    either sign, and whitening would blow them up. Divided by infinity, these directions stay 0, and so does their
    gradient. A matrix that is not finite gives NaN, where the routine would raise: that run has diverged.
    """
    finite = torch.isfinite(matrix).all(-1, keepdim=True).all(-2, keepdim=True)
    values, vectors = torch.linalg.eigh(torch.where(finite, matrix, torch.eye(matrix.shape[-1]).to(matrix)))
    rounding = matrix.shape[-1] * torch.finfo(matrix.dtype).eps * values[..., -1:]
    values = torch.where(values > rounding, values, torch.inf)
    return torch.where(finite.squeeze(-1), values, torch.nan), vectors


class InverseRoot(torch.autograd.Function):
    """S -> S^(-1/2) for symmetric positive definite matrices (*, n, n).

    The gradient of the eigenvectors divides by differences of eigenvalues, which may be 0. The whole function is
    smooth: in the eigenvectors' basis its derivative is -1 / (s_i s_j (s_i + s_j)) with s = sqrt(eigenvalue).
    """

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        values, vectors = eigen(matrix)
        ctx.save_for_backward(matrix, values, vectors)
        return (vectors * values.rsqrt().unsqueeze(-2)) @ vectors.mT

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        matrix, values, vectors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative needs them as functions of the matrix
            values, vectors = eigen(matrix)
        s = values.sqrt()
        rows, columns = s.unsqueeze(-1), s.unsqueeze(-2)
        inner = vectors.mT @ ((grads[0] + grads[0].mT) / 2) @ vectors
        return -vectors @ (inner / (rows * columns * (rows + columns))) @ vectors.mT


class Products(torch.autograd.Function):
    """`products`, with one product in backward; as both factors of a product, x would have two and their sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(x)
        return products(x, size)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return mix(grads[0] + grads[0].mT, x), None


class Whitening(PerChannel):
    """Whiten groups of channels by ZCA with the batch's covariance in training, a running matrix in evaluation."""

    running_mean: Tensor
    running_matrix: Tensor

    def __init__(self, num_features: int, group_size: int, eps: float, momentum: float, affine: bool) -> None:
        super().__init__(num_features)
        self.group_size, self.eps, self.momentum = group_size, eps, momentum
        self.learn(affine, affine)
        self.register_buffer("running_mean", torch.zeros(num_features))
        identity = torch.eye(group_size).expand(num_features // group_size, -1, -1)
        self.register_buffer("running_matrix", identity.clone())

    def forward(self, x: Tensor) -> Tensor:
        # Autocast would round the covariance to half precision (and does not know the device that only has shapes).
        with nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False):
            y = self.whitened(at_least_float32(x))
            y = scale_shift(y, *self.affine) if self.affine else y
        return y.to(x.dtype)

    def whitened(self, x: Tensor) -> Tensor:
        if not self.training:
            centred = x - over_positions(self.running_mean, x).to(x.dtype)
            return mix(self.running_matrix.to(x.dtype), centred)
        count = x.numel() // x.shape[1]
        if count <= self.group_size:
            raise ValueError(
                f"whitening {self.group_size} channels needs more than {self.group_size} values per channel, at least "
                f"more than one value, in training (lower norm.group_size), input has shape {tuple(x.shape)}"
            )
        mean = x.flatten(2).sum(2).sum(0) / count if x.dim() > 2 else x.mean(0)
        centred = x + over_positions(-mean, x)  # the gradient of -mean, as large as mean, is what changes its sign
        covariance = Products.apply(centred, self.group_size) / count
        matrix = InverseRoot.apply(covariance + self.eps * torch.eye(self.group_size, dtype=x.dtype, device=x.device))
        self.observe(mean, matrix)
        return mix(matrix, centred)

    @torch.no_grad()
    def observe(self, mean: Tensor, matrix: Tensor) -> None:
        """Move the running estimates by one batch."""
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
        self.running_matrix.lerp_(matrix.to(self.running_matrix.dtype), self.momentum)


def products(x: Tensor, size: int) -> Tensor:
    """Sum the outer products of each group's channels over samples and positions: (C / size, size, size)."""
    last = x.movedim(1, -1)
    if last.is_contiguous():
        rows = last.reshape(-1, x.shape[1] // size, size).transpose(0, 1)
        return rows.mT @ rows
    groups = x.reshape(x.shape[0], x.shape[1] // size, size, -1)
    return (groups @ groups.mT).sum(0)


def mix(matrices: Tensor, x: Tensor) -> Tensor:
    """Multiply each group's channels by its matrix at every position, in the memory format of x."""
    # In channels_last the product comes out group by group and is put in order again, in the time of one more product.
    groups, size, _ = matrices.shape
    last = x.movedim(1, -1)
    if last.is_contiguous():
        rows = last.reshape(-1, groups, size).transpose(0, 1)
        return (rows @ matrices.mT).transpose(0, 1).reshape(last.shape).movedim(-1, 1)
    return (matrices @ x.reshape(x.shape[0], groups, size, -1)).reshape(x.shape)


@dataclass(frozen=True, kw_only=True)
class DecorrelatedBatchNorm(Norm):
    """Whiten groups of channels over the batch: mean 0, variance 1, and no correlation within a group.

    y = D L^(-1/2) D' (x - mean), with D and L eigenvectors and eigenvalues of the group's covariance (biased, over
    the batch and all positions) plus eps times the identity: ZCA, the whitening that changes x least.
    Training uses the batch's mean and covariance, and moves a running mean and a running whitening matrix (of
    the matrix itself; it starts as the identity); evaluation uses the two.
    Backward uses the derivative of the inverse root as a whole, finite for equal eigenvalues; the eigenvectors'
    own is not.

    Args:
        group_size: channels per group; groups of 1 are batch normalization. Where it does not divide a layer's C
            channels, that layer takes the largest divisor of C below.
        eps: added to every eigenvalue.
        affine: learn `weight` (starts at 1) and `bias` (starts at 0); the authors leave it off.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds no more values per channel than a group has channels: their
        covariance is singular, and whitening would magnify rounding by 1 / sqrt(eps).

    Source: Huang et al. 2018, arXiv:1804.08450.
    Differs: the rule for channels that group_size does not divide; the start of the running matrix.
    """

    group_size: int = at_least(1, 16)
    eps: float = positive(1e-7)
    momentum: float = share(0.1)
    affine: bool = False
    cancels_bias = True

    def normalization(self, num_features: int) -> nn.Module:
        size = largest_divisor(num_features, self.group_size)
        return Whitening(num_features, size, self.eps, self.momentum, self.affine)
