"""Decorrelated batch normalization: it whitens, by the whitening nearest to the input, and its backward is finite."""

import pytest
import torch

from normexp.norms.batch import BatchNorm
from normexp.norms.decorrelated import DecorrelatedBatchNorm, InverseRoot


def correlated(n=500, channels=32):
    torch.manual_seed(0)
    return torch.randn(n, channels, dtype=torch.double) @ torch.randn(channels, channels, dtype=torch.double) + 2


def covariance(y):
    return torch.cov(y.movedim(1, 0).flatten(1), correction=0)


@pytest.mark.parametrize("positions", [(), (5,), (5, 4)])
def test_groups_become_white(positions):
    x = correlated(500).view(500 // max(1, torch.Size(positions).numel()), *positions, 32).movedim(-1, 1)
    y = DecorrelatedBatchNorm().normalization(32).double()(x)
    blocks = covariance(y)
    for start in (0, 16):
        block = blocks[start : start + 16, start : start + 16]
        torch.testing.assert_close(block, torch.eye(16, dtype=torch.double), rtol=0, atol=1e-4)
    assert blocks[:16, 16:].abs().max() > 0.1  # groups do not see each other
    assert y.movedim(1, 0).flatten(1).mean(1).abs().max() < 1e-10


def test_white_input_is_left_alone():
    """ZCA turns nothing, unlike PCA: whitening twice is whitening once."""
    y = DecorrelatedBatchNorm(eps=1e-12).normalization(32).double()(correlated())
    torch.testing.assert_close(DecorrelatedBatchNorm(eps=1e-12).normalization(32).double()(y), y)


def test_groups_of_one_are_batch_normalization():
    x = correlated(20, 4)
    found = DecorrelatedBatchNorm(group_size=1, eps=1e-5).normalization(4).double()(x)
    torch.testing.assert_close(found, BatchNorm(affine=False).normalization(4).double()(x))


def test_gradient_of_the_inverse_root_at_equal_eigenvalues():
    """At 4 I: d S^(-1/2) = -1/2 4^(-3/2) dS. The eigenvectors' own derivative is 0/0 there."""
    matrix = (4 * torch.eye(5, dtype=torch.double)).requires_grad_()
    direction = torch.randn(5, 5, dtype=torch.double)
    direction = direction + direction.T
    InverseRoot.apply(matrix).backward(direction)
    torch.testing.assert_close(matrix.grad, -direction / 16)


def test_gradient_of_the_inverse_root_is_the_numerical_one():
    root = torch.randn(2, 4, 4, dtype=torch.double)
    root.requires_grad_()

    def function(root):
        return InverseRoot.apply(root @ root.mT + torch.eye(4, dtype=torch.double))

    assert torch.autograd.gradcheck(function, [root])
    assert torch.autograd.gradgradcheck(function, [root])


@pytest.mark.parametrize("shape", [(16, 16), (4, 16, 4), (2, 32, 2, 4)])
def test_too_few_values_are_refused(shape):
    with pytest.raises(ValueError, match="whitening 16 channels needs more than 16 values per channel"):
        DecorrelatedBatchNorm().normalization(shape[1])(torch.randn(shape))
    assert DecorrelatedBatchNorm().normalization(shape[1]).eval()(torch.randn(shape)).isfinite().all()


@pytest.mark.parametrize(("channels", "size"), [(96, 16), (10, 10), (20, 10), (17, 1)])
def test_size_of_groups(channels, size):
    assert DecorrelatedBatchNorm().normalization(channels).running_matrix.shape == (channels // size, size, size)


def test_float32_is_close_to_double():
    x = correlated(400)
    found = DecorrelatedBatchNorm().normalization(32)(x.float())
    torch.testing.assert_close(
        found.double(), DecorrelatedBatchNorm().normalization(32).double()(x), rtol=1e-2, atol=1e-2
    )


def test_decorrelated_leaves_directions_without_variance_at_zero():
    """Sixteen channels computed from nine pixels have a covariance of rank nine; rounding must not be whitened."""
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(9, 16, generator=generator)
    x = (torch.randn(256, 9, generator=generator) @ mixing).requires_grad_()
    y = DecorrelatedBatchNorm(group_size=16).normalization(16)(x)
    y.square().sum().backward()
    covariance = torch.linalg.eigvalsh(y.detach().T @ y.detach() / len(y))
    torch.testing.assert_close(covariance, torch.tensor([0.0] * 7 + [1.0] * 9), atol=1e-2, rtol=0)
    assert torch.isfinite(x.grad).all()


def test_decorrelated_of_nan_is_nan_and_no_error():
    module = DecorrelatedBatchNorm(group_size=2).normalization(2)
    assert module(torch.full((8, 2), torch.nan)).isnan().all()
