"""Weight standardization, plain and scaled."""

import math

import pytest
import torch
from torch import nn

from normexp.norms.scaled_weight_standard import ScaledWeightStandardization
from normexp.norms.weight_standard import WeightStandardization

LAYERS = [lambda: nn.Linear(9, 6), lambda: nn.Conv2d(3, 6, 3), lambda: nn.ConvTranspose2d(3, 6, 3)]
each_layer = pytest.mark.parametrize("make", LAYERS)


def rows(layer):
    weight = layer.weight.detach()
    return weight.movedim(int(isinstance(layer, nn.ConvTranspose2d)), 0).flatten(1)


@each_layer
@pytest.mark.parametrize(("std", "correction"), [("biased", 0), ("unbiased", 1)])
def test_every_unit_has_mean_0_and_std_1(make, std, correction):
    units = rows(WeightStandardization(std=std, eps=1e-15).parametrize(make().double()))
    torch.testing.assert_close(units.mean(1), torch.zeros(6, dtype=torch.double))
    torch.testing.assert_close(units.std(1, correction=correction), torch.ones(6, dtype=torch.double))


def test_eps_is_outside_the_root():
    layer = WeightStandardization(std="biased", eps=0.5).parametrize(nn.Linear(2, 1).double())
    layer.parametrizations.weight.original.data = torch.tensor([[1.0, 3.0]], dtype=torch.double)
    torch.testing.assert_close(layer.weight, torch.tensor([[-1 / 1.5, 1 / 1.5]], dtype=torch.double))


@pytest.mark.parametrize("norm", [WeightStandardization(eps=1e-15), ScaledWeightStandardization(eps=1e-15)])
def test_gradient_is_orthogonal_to_the_weights_and_to_the_mean(norm):
    layer = norm.parametrize(nn.Conv2d(3, 6, 3).double())
    original = layer.parametrizations.weight.original
    layer.weight.backward(torch.randn_like(layer.weight))
    grad, weight = original.grad.flatten(1), original.detach().flatten(1)
    assert (grad * weight).sum(1).abs().max() < 1e-10
    assert grad.sum(1).abs().max() < 1e-10


@pytest.mark.parametrize("norm", [WeightStandardization(), ScaledWeightStandardization()])
def test_one_weight_per_unit_is_refused(norm):
    with pytest.raises(ValueError, match="more than one weight per output unit"):
        norm.parametrize(nn.Linear(1, 4))
    with pytest.raises(ValueError, match="more than one weight per output unit"):
        norm.parametrize(nn.Conv2d(4, 4, 1, groups=4))


@each_layer
def test_scaled_units_have_mean_0_and_length_gain(make):
    layer = ScaledWeightStandardization().parametrize(make().double())
    units = rows(layer)
    torch.testing.assert_close(units.mean(1), torch.zeros(6, dtype=torch.double))
    torch.testing.assert_close(units.norm(dim=1), torch.ones(6, dtype=torch.double))
    with torch.no_grad():
        layer.parametrizations.weight[0].gain.mul_(3)
    torch.testing.assert_close(rows(layer).norm(dim=1), torch.full((6,), 3.0, dtype=torch.double))


def test_scaled_has_a_least_variance():
    layer = ScaledWeightStandardization(eps=8.0).parametrize(nn.Linear(2, 1).double())
    layer.parametrizations.weight.original.data = torch.tensor([[1.0, 3.0]], dtype=torch.double)  # n var = 2
    torch.testing.assert_close(layer.weight, torch.tensor([[-1.0, 1.0]], dtype=torch.double) / math.sqrt(8))


def test_scaled_relu_gain_is_one_over_c1():
    fn = ScaledWeightStandardization().nonlinearity(nn.ReLU())
    assert fn.scale == pytest.approx(math.sqrt(2 / (1 - 1 / math.pi)), abs=1e-12)
    assert fn.scale == pytest.approx(1.712859, abs=1e-6)


@pytest.mark.parametrize("make", [nn.ReLU, nn.Tanh, nn.GELU])
def test_scaled_block_keeps_the_variance_at_1(make):
    block = ScaledWeightStandardization().block(nn.Linear(400, 2000, bias=False), make())
    y = block(torch.randn(2000, 400))
    assert y.var(0).mean().item() == pytest.approx(1, rel=0.02)
    assert ScaledWeightStandardization().block(nn.Linear(9, 6))[0].bias is not None
