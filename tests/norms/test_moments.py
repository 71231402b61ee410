"""The shared pieces of schemes that torch has no kernel for: moments, and functions that are run again."""

import copy

import pytest
import torch
from torch import nn

from normexp.norms.batch import BatchNorm
from normexp.norms.dynamic_tanh import DynamicTanh
from normexp.norms.kernels import tiles
from normexp.norms.kernels.moments import mean_square, moments, pooled, scaled
from normexp.norms.kernels.recompute import recomputed
from normexp.norms.layer import LayerNorm
from normexp.norms.positional import PositionalNorm
from normexp.norms.rms import RMSNorm
from normexp.norms.scale_norm import ScaleNorm
from normexp.norms.ssnorm import SSNorm

SHAPES = [(4, 3), (4, 3, 1, 1), (4, 3, 5), (4, 3, 5, 2), (2, 3, 4, 2, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_moments_and_what_they_pool_to(shape):
    x = torch.randn(shape, dtype=torch.double) * 3 + 1
    mean, var = moments(x)
    flat = x.reshape(*shape[:2], -1)
    torch.testing.assert_close(mean, flat.mean(2))
    torch.testing.assert_close(var, flat.var(2, correction=0))
    for found, expected in zip(pooled(mean, var, 0), (flat.mean((0, 2)), flat.var((0, 2), correction=0)), strict=True):
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(mean_square(x), flat.square().mean(2))


def test_derivatives_of_the_moments():
    x = torch.randn(2, 2, 3, dtype=torch.double, requires_grad=True)
    for function in (moments, mean_square):
        assert torch.autograd.gradcheck(function, [x])
        assert torch.autograd.gradgradcheck(function, [x])


def test_moments_at_an_offset_do_not_cancel():
    x = torch.randn(2, 3, 1000, dtype=torch.double) + 1e6
    torch.testing.assert_close(moments(x.float())[1].double(), x.var(2, correction=0), rtol=2e-2, atol=0)


def test_recomputed_inputs_that_depend_on_each_other():
    """d/dx of x * mean(x): the path through the mean must be counted once, in second derivatives too."""
    x = torch.randn(4, dtype=torch.double, requires_grad=True)

    def function(x):
        return recomputed(torch.mul, lambda grad, x, m: (grad * m, (grad * x).sum()), x, x.square().mean())

    assert torch.autograd.gradcheck(function, [x])
    assert torch.autograd.gradgradcheck(function, [x])
    plain, with_graph = (torch.autograd.grad(function(x).sum(), x, create_graph=each) for each in (False, True))
    torch.testing.assert_close(with_graph, plain)


def test_recomputed_keeps_nothing_but_its_inputs():
    kept = []
    x = torch.randn(5, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.data_ptr()) or t, lambda t: t):
        recomputed(lambda x: x.sin().exp().tanh(), lambda grad, x: (grad,), x)
    assert kept == [x.data_ptr()]


def test_rms_of_vectors_is_torchs():
    x = torch.randn(4, 6, dtype=torch.double, requires_grad=True)
    ours, torchs = RMSNorm().normalization(6).double(), nn.RMSNorm(6, eps=1e-5).double()
    torch.testing.assert_close(ours(x), torchs(x))
    torch.testing.assert_close(*(torch.autograd.grad(each(x).sin().sum(), x) for each in (ours, torchs)))


def test_rms_of_centred_input_is_layer_normalization():
    x = torch.randn(4, 6, 3, 2, dtype=torch.double)
    x = x - x.mean((1, 2, 3), keepdim=True)
    torch.testing.assert_close(RMSNorm().normalization(6).double()(x), LayerNorm().normalization(6).double()(x))


def test_positional_is_layer_normalization_of_vectors_at_each_position():
    x = torch.randn(4, 6, 3, 2)
    rows = x.movedim(1, -1).reshape(-1, 6)
    expected = LayerNorm(affine=False).normalization(6)(rows).view(4, 3, 2, 6).movedim(-1, 1)
    torch.testing.assert_close(PositionalNorm().normalization(6)(x), expected)
    with pytest.raises(ValueError, match="more than one channel"):
        PositionalNorm().normalization(1)(x[:, :1])


def test_dynamic_tanh_starts_as_the_papers_and_measures_nothing():
    module, x = DynamicTanh().normalization(6), torch.randn(4, 6, 3)
    torch.testing.assert_close(module(x), (0.5 * x).tanh())
    assert not list(module.buffers())
    assert module.alpha.dim() == 0
    with pytest.raises(ValueError, match="alpha must be above 0, not 0"):
        DynamicTanh(alpha=0.0)


def test_pooled_statistics_are_batch_normalizations():
    x = torch.randn(4, 6, 3, 2)
    module = BatchNorm(momentum=1.0).normalization(6)
    module(x)
    mean, var = pooled(*moments(x), 0)
    torch.testing.assert_close(module.running_mean, mean)
    torch.testing.assert_close(module.running_var, var * (24 / 23))


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_scaled_maps_in_half_precision_are_rounded_once(memory_format, monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 2 * 3 * 8)
    x = torch.randn(5, 3, 4, 2).bfloat16().contiguous(memory_format=memory_format).requires_grad_()
    scale, grad = torch.rand(5, 3, dtype=torch.float32, requires_grad=True), torch.randn_like(x)
    y = scaled(x, scale)
    assert torch.equal(y, (x.float() * scale[..., None, None]).bfloat16())
    of_x, of_scale = torch.autograd.grad(y, [x, scale], grad)
    assert torch.equal(of_x, (grad.float() * scale[..., None, None]).bfloat16())
    torch.testing.assert_close(of_scale, (grad.float() * x.float()).sum([2, 3]))
    assert y.stride() == of_x.stride() == x.stride()


@pytest.mark.parametrize("norm", [RMSNorm(), ScaleNorm(), SSNorm(), LayerNorm()])
def test_gradients_of_vectors_in_half_precision_are_rounded_once(norm):
    module, x = norm.normalization(16), torch.randn(64, 16).bfloat16()
    exact, grad = copy.deepcopy(module).double(), torch.randn(64, 16).bfloat16()
    (found,), (expected,) = (
        torch.autograd.grad(net(data), data, grad.to(data.dtype))
        for net, data in ((module, x.requires_grad_()), (exact, x.detach().double().requires_grad_()))
    )
    assert (found - expected).square().mean() < (2**-9 * 0.9) ** 2 * expected.square().mean()
