"""Filter response normalization: its unit, its eps, and where the unit is left out."""

import numpy as np
import pytest
import torch
from reference import gradient
from references.filter_response import Formula
from torch import nn

from normexp.norms.filter_response import FilterResponse, FilterResponseNorm


def test_starts_as_a_relu_of_the_response():
    x = torch.randn(4, 3, 5, 5)
    expected = (x / x.square().mean((2, 3), keepdim=True).sqrt()).relu()
    torch.testing.assert_close(FilterResponseNorm().normalization(3)(x), expected, rtol=1e-4, atol=1e-5)


def test_threshold_is_the_smallest_output():
    module = FilterResponseNorm().normalization(3)
    with torch.no_grad():
        module.threshold.copy_(torch.tensor([-0.5, 0.25, 1.0]))
    y = module(torch.randn(4, 3, 8, 8))
    assert y.amin((0, 2, 3)).tolist() == [-0.5, 0.25, 1.0]


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 1, 1), (4, 3, 2, 2)])
def test_learned_eps(shape):
    module = FilterResponseNorm(learn_eps=True).normalization(3).double()
    assert module.eps_learned.item() == pytest.approx(1e-4)
    with torch.no_grad():
        module.eps_learned.fill_(-0.3)
    x = np.random.default_rng(0).normal(size=shape)
    formula = Formula({"eps": 1e-6})
    formula.parameters = {"threshold": np.zeros(3), "eps_learned": np.array(-0.3)}
    weight, bias = np.ones(3), np.zeros(3)
    cotangent = np.random.default_rng(1).normal(size=shape)
    y = module(torch.tensor(x))
    y.backward(torch.tensor(cotangent))
    np.testing.assert_allclose(y.detach().numpy(), formula.train(x, weight, bias), rtol=1e-10)
    expected = gradient(lambda eps: formula.train_with("eps_learned", eps, x, weight, bias), np.array(-0.3), cotangent)
    np.testing.assert_allclose(module.eps_learned.grad.numpy(), expected, rtol=1e-9)


def test_does_not_see_the_scale_of_one_sample_but_its_mean():
    module = FilterResponseNorm(eps=1e-12).normalization(3).double()
    x = torch.randn(4, 3, 5, 5, dtype=torch.double)
    torch.testing.assert_close(module(x * 7), module(x))
    assert not torch.allclose(module(x + 1), module(x))


def test_output_layer_has_no_unit():
    (_, module) = FilterResponseNorm().block(nn.Conv2d(2, 3, 1))
    assert isinstance(module, FilterResponse)
    assert module.threshold is None
    assert module(torch.randn(4, 3, 5, 5)).min() < 0


def test_without_unit_the_network_keeps_its_nonlinearity():
    block = FilterResponseNorm(unit=False).block(nn.Conv2d(2, 3, 1), nn.Tanh())
    assert [type(step).__name__ for step in block] == ["Conv2d", "FilterResponse", "Tanh"]
    assert FilterResponseNorm(unit=False, placement="post").block(nn.Conv2d(2, 3, 1), nn.Tanh())[1].__class__ is nn.Tanh


def test_output_may_be_changed_in_place():
    """As residual networks do."""
    x = torch.randn(4, 3, 5, 5, requires_grad=True)
    y = FilterResponseNorm().normalization(3)(x)
    y += 1
    y.square().sum().backward()
    assert x.grad.isfinite().all()
