"""Decorrelated batch normalization."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.batched import move
from normexp.norms.kernels.grouped import largest_divisor
from normexp.norms.kernels.layout import is_channels_last
from normexp.norms.kernels.moments import channel_sum, less, over_positions, scale_shift
from normexp.norms.kernels.tiles import kept_by_others, tiles
from normexp.norms.options import at_least, positive, share


def eigen(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors; a variance below the rounding of the largest counts as infinite.

    The covariance of 16 channels computed from 9 pixels has rank 9: rounding makes the other eigenvalues tiny, of
    either sign, and whitening would blow them up. Divided by infinity, these directions stay 0, and so does their
    gradient. A matrix that is not finite gives NaN, where the routine would raise: that run has diverged.
    """
    finite = torch.isfinite(matrix).all(-1, keepdim=True).all(-2, keepdim=True)
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    values, vectors = torch.linalg.eigh(torch.where(finite, matrix, identity))
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
        return inverse_root(values, vectors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        matrix, values, vectors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative needs them as functions of the matrix
            values, vectors = eigen(matrix)
        return inverse_root_gradient(grads[0], values, vectors)


def inverse_root(values: Tensor, vectors: Tensor) -> Tensor:
    """Return S^(-1/2): (*, n, n), from the eigenvalues (*, n) of S and its eigenvectors (*, n, n)."""
    return (vectors * values.rsqrt().unsqueeze(-2)) @ vectors.mT


def inverse_root_gradient(grad: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """Return the gradient of S, symmetric, for that of S^(-1/2); see `InverseRoot`."""
    s = values.sqrt()
    rows, columns = s.unsqueeze(-1), s.unsqueeze(-2)
    inner = vectors.mT @ ((grad + grad.mT) / 2) @ vectors
    return -vectors @ (inner / (rows * columns * (rows + columns))) @ vectors.mT


def whitened(x: Tensor, size: int, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return x: (N, C, *) white in each group of `size` channels, its mean (C,), and the groups' matrices."""
    count = x.numel() // x.shape[1]
    mean = x.flatten(2).sum(2).sum(0) / count if x.dim() > 2 else x.mean(0)
    centred = x + over_positions(-mean, x)  # the gradient of -mean, as large as mean, is what changes its sign
    matrix = InverseRoot.apply(plus_eps(products(centred, centred, size) / count, eps))
    return mix(matrix, centred), mean, matrix


class Whitened(torch.autograd.Function):
    """`whitened`, in parts that stay in the cache, with five products by matrices in all: two forward, three back.

    Keeps x, the mean and the matrices. A second derivative is that of `whitened`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, size: int, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        count, y = x.numel() // x.shape[1], torch.empty_like(x)
        mean = added(channel_sum(at_least_float32(part)) for (part,) in tiles(x)) / count
        covariance = added(products(each, each, size) for each in centred(x, mean)) / count
        values, vectors = eigen(plus_eps(covariance, eps))
        matrix = inverse_root(values, vectors)
        for out, part in tiles(y, x):
            write(out, torch.zeros_like(mean), (matrix, less(part, mean)))
        ctx.size, ctx.eps = size, eps
        ctx.save_for_backward(x, mean, matrix, values, vectors)
        ctx.mark_non_differentiable(mean, matrix)
        return y, mean, matrix

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        x, mean, matrix, values, vectors = ctx.saved_tensors
        if torch.is_grad_enabled():  # someone differentiates the gradient
            own = x.view_as(x)
            y = whitened(at_least_float32(own), ctx.size, ctx.eps)[0].to(x.dtype)
            return torch.autograd.grad(y, [own], grads[0], create_graph=True)[0], None, None
        count, found, size = x.numel() // x.shape[1], torch.empty_like(x), ctx.size
        through, total = torch.zeros_like(matrix), torch.zeros_like(mean)
        for part, grad in tiles(x, grads[0]):
            grad = at_least_float32(grad)
            through += products(grad, less(part, mean), size)
            total += channel_sum(grad)
        of_covariance = inverse_root_gradient(through, values, vectors) * (2 / count)
        of_mean = mix(matrix, total.unsqueeze(0)).squeeze(0) / -count
        for out, part, grad in tiles(found, x, grads[0]):
            write(out, of_mean, (matrix, at_least_float32(grad)), (of_covariance, less(part, mean)))
        return found, None, None


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
            y = self.in_training(x) if self.training else self.in_evaluation(at_least_float32(x))
            y = scale_shift(y, *self.affine) if self.affine else y
        return y.to(x.dtype)

    def in_evaluation(self, x: Tensor) -> Tensor:
        return mix(self.running_matrix.to(x.dtype), x - over_positions(self.running_mean, x).to(x.dtype))

    def in_training(self, x: Tensor) -> Tensor:
        count = x.numel() // x.shape[1]
        if count <= self.group_size:
            raise ValueError(
                f"whitening {self.group_size} channels needs more than {self.group_size} values per channel "
                f"in training (lower norm.group_size), input has shape {tuple(x.shape)}"
            )
        plain = kept_by_others() or not torch.is_grad_enabled()
        x = at_least_float32(x) if plain or self.affine else x  # what comes next rounds
        y, mean, matrix = (whitened if plain else in_rows)(x, self.group_size, self.eps)
        self.observe(mean, matrix)
        return y

    @torch.no_grad()
    def observe(self, mean: Tensor, matrix: Tensor) -> None:
        """Move the running estimates by one batch."""
        move((self.running_mean, self.running_matrix), (mean, matrix), self.momentum)


def in_rows(x: Tensor, size: int, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """`Whitened` of x: (N, C, *); in channels_last every position is a row of its own, which saves calls."""
    if not is_channels_last(x):
        return Whitened.apply(x, size, eps)
    last = x.movedim(1, -1)
    y, mean, matrix = Whitened.apply(last.flatten(0, -2), size, eps)
    return y.view(last.shape).movedim(-1, 1), mean, matrix


def plus_eps(matrix: Tensor, eps: float) -> Tensor:
    return matrix + eps * torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def centred(x: Tensor, mean: Tensor) -> Iterator[Tensor]:
    return (less(part, mean) for (part,) in tiles(x))


def added(terms: Iterator[Tensor]) -> Tensor:
    return functools.reduce(Tensor.add_, terms)


def by_group(x: Tensor, size: int) -> Tensor:
    """Return x: (N, C, *) in channels_last, or (N, C), as (C / size, positions, size)."""
    last = x if x.dim() == 2 else x.movedim(1, -1)
    return last.reshape(-1, x.shape[1] // size, size).transpose(0, 1)


def products(x: Tensor, y: Tensor, size: int) -> Tensor:
    """Sum the outer products of each group's channels over samples and positions: (C / size, size, size)."""
    if x.dim() == 2 or is_channels_last(x):
        return by_group(x, size).mT @ by_group(y, size)
    groups, others = (each.reshape(x.shape[0], x.shape[1] // size, size, -1) for each in (x, y))
    return (groups @ others.mT).sum(0)


def mix(matrices: Tensor, x: Tensor) -> Tensor:
    """Multiply each group's channels by its matrix at every position, in the memory format of x."""
    # In channels_last the product comes out group by group and is put in order again, in the time of one more product.
    groups, size, _ = matrices.shape
    last = x.movedim(1, -1)
    if last.is_contiguous():
        return (by_group(x, size) @ matrices.mT).transpose(0, 1).reshape(last.shape).movedim(-1, 1)
    return (matrices @ x.reshape(x.shape[0], groups, size, -1)).reshape(x.shape)


def write(out: Tensor, shift: Tensor, *terms: tuple[Tensor, Tensor]) -> None:
    """Write the sum of every `mix(*term)` and of a shift (C,), put in order once and rounded once."""
    size = terms[0][0].shape[-1]
    if out.dim() > 2:
        out.copy_(added(mix(*term) for term in terms).add_(over_positions(shift, out)))
        return
    total = shift.view(-1, 1, size)
    for matrix, x in terms:
        total = torch.baddbmm(total, by_group(x, size), matrix.mT)
    by_group(out, size).copy_(total)


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
