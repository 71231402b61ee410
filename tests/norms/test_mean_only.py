"""Mean-only batch normalization's own gradient: what it keeps, and gradients that come in unusual layouts."""

import pytest
import torch

from normexp.norms.mean_only import MeanOnlyBatchNorm, wide_channel_sum

SHAPES = [(6, 4), (6, 4, 5), (6, 4, 5, 3), (2, 4, 5, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_channel_sum(shape, dtype):
    x = torch.randn(shape).to(dtype)
    for view in (
        x,
        x.movedim(1, -1).contiguous().movedim(-1, 1),
        x.transpose(0, 1).contiguous().transpose(0, 1),
    ):
        found = wide_channel_sum(view)
        assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        torch.testing.assert_close(found.double(), x.double().movedim(1, 0).flatten(1).sum(1), rtol=1e-5, atol=1e-4)


def test_gradient_of_a_plain_sum_is_zero():
    """`y.sum()` sends back a gradient of stride 0."""
    x = torch.randn(6, 4, 5, 3, requires_grad=True)
    module = MeanOnlyBatchNorm().normalization(4)
    module(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.zeros_like(x))
    torch.testing.assert_close(module.bias.grad, torch.full((4,), 6.0 * 5 * 3))


def test_output_may_be_changed_in_place():
    x = torch.randn(6, 4, 5, 3, requires_grad=True)
    module = MeanOnlyBatchNorm().normalization(4)
    torch.nn.functional.relu(module(x), inplace=True).square().sum().backward()
    expected = 2 * (y := module(x).detach().relu())
    torch.testing.assert_close(x.grad, expected - 2 * y.mean((0, 2, 3), keepdim=True))


def test_frozen_bias_and_input_without_gradient():
    module = MeanOnlyBatchNorm().normalization(4)
    module(torch.randn(6, 4)).sum().backward()
    assert module.bias.grad is not None
    module.bias.requires_grad_(False)
    x = torch.randn(6, 4, requires_grad=True)
    module(x).square().sum().backward()
    assert x.grad.isfinite().all()
