"""Functions of each value: as accurate as torch's, whichever library computes them."""

import pytest
import torch

from normexp.norms.kernels.elementwise import FusedTanh, tanh

FORMATS = {"NCHW": torch.contiguous_format, "channels_last": torch.channels_last}


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.1, 1.0, 10.0])
@torch.no_grad()
def test_tanh_is_accurate_to_its_last_digits_at_every_size(size, layout):
    x = (torch.randn(4, 5, 6, 7) * size).contiguous(memory_format=FORMATS[layout])[1:3]
    y, exact = tanh(x), x.double().tanh()
    assert y.stride() == x.stride()
    assert ((y - exact) / exact).abs().max() < 3e-7


@torch.no_grad()
def test_tanh_of_what_is_no_ordinary_number():
    x = torch.tensor([[torch.inf, -torch.inf, torch.nan, 0.0, 1e-42]])
    assert torch.equal(tanh(x)[0, :4].nan_to_num(7.0), torch.tensor([1.0, -1.0, 7.0, 0.0]))
    assert tanh(x[:, :0]).shape == (1, 0)
    spread = torch.tensor([[1.0], [2.0]]).expand(2, 3)
    assert torch.equal(tanh(spread), spread.tanh())


def test_tanh_is_differentiated_by_torch():
    x = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradgradcheck(tanh, [x])
    wide = torch.randn(2, 3, requires_grad=True)
    torch.testing.assert_close(torch.autograd.grad(tanh(wide).sum(), wide)[0], 1 - wide.tanh().square())


@pytest.mark.parametrize("size", [1e-30, 1e-6, 1e-3, 0.1, 1.0, 10.0])
def test_tanh_for_a_compiler_is_as_accurate_and_so_is_its_slope(size):
    x = (torch.randn(10_000) * size).requires_grad_()
    y, exact = FusedTanh.apply(x), x.detach().double().tanh()
    assert ((y - exact) / exact).abs().max() < 3e-7
    (slope,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(slope.double(), 1 - exact.square(), rtol=0, atol=3e-7)


def test_tanh_for_a_compiler_of_what_is_no_ordinary_number():
    y = FusedTanh.apply(torch.tensor([torch.inf, -torch.inf, torch.nan, -0.0]))
    assert torch.equal(y.nan_to_num(7.0), torch.tensor([1.0, -1.0, 7.0, 0.0]))
    assert y[3].signbit()
