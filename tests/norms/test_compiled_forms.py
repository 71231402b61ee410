"""Formulae that have a form of their own for a compiler: the same numbers as the ordinary one."""

import copy

import pytest
import torch

from normexp.norms import EvoNormB0, EvoNormS0
from normexp.norms.kernels import spread
from normexp.norms.kernels.loops import in_loops, shifted_moments
from normexp.norms.kernels.scan import fused, steps


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
@pytest.mark.parametrize("correction", [0, 1])
def test_the_spread_of_weights(name, correction, monkeypatch):
    weight = torch.randn(5, 7, dtype=torch.double, requires_grad=True)
    function = getattr(spread, name)
    expected = function(weight, [1], correction)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    found = function(weight, [1], correction)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(sum(each.square().sum() for each in both), weight) for both in (found, expected)]
    torch.testing.assert_close(*gradients)


def test_equal_weights_have_no_gradient_of_their_deviation(monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    weight = torch.ones(2, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(spread.std_mean(weight, [1], 1)[0].sum(), weight)
    assert torch.equal(gradient, torch.zeros(2, 3))


def test_the_steps_of_a_recursion():
    decay, increment = torch.rand(3, 4, 5, dtype=torch.double), torch.randn(3, 4, 5, dtype=torch.double)
    torch.testing.assert_close(fused(decay, increment), steps(decay, increment))


LOOPED = {"evonorm_s0": EvoNormS0(num_groups=4), "evonorm_b0": EvoNormB0()}


def layer(name, channels):
    """Return the scheme's module with parameters that are not all alike."""
    module = LOOPED[name].normalization(channels)
    for parameter in module.parameters():
        torch.nn.init.uniform_(parameter, 0.5, 1.5)
    return module


def learned(module, compute, x):
    """Return the output, all gradients and the buffers of one step."""
    torch.manual_seed(1)
    x = x.detach().requires_grad_()
    y = compute(module, x)
    y.backward(torch.randn(y.shape, dtype=torch.double).to(y.dtype))
    return y, x.grad, *(parameter.grad for parameter in module.parameters()), *module.buffers()


def by_loops(module, x):
    return in_loops(module, type(module).loops, x)


@pytest.mark.parametrize("name", LOOPED)
@pytest.mark.parametrize("shape", [(5, 8, 4, 6), (3, 8, 35)])
def test_loops_compute_the_formula_and_its_gradients(name, shape):
    module, x = layer(name, 8).double(), torch.randn(shape, dtype=torch.double) + 1
    found = learned(copy.deepcopy(module), by_loops, x)
    for ours, expected in zip(found, learned(module, type(module).forward, x), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LOOPED)
def test_loops_are_as_accurate_at_an_offset_as_the_layer(name):
    module, x = layer(name, 8), torch.randn(8, 8, 16, 16) + 1e3
    exact = learned(copy.deepcopy(module).double(), type(module).forward, x.double())
    for compute in (type(module).forward, by_loops):
        y, grad, *_ = learned(copy.deepcopy(module), compute, x)
        assert (y - exact[0]).abs().max() < 1e-5 * exact[0].abs().max()
        assert (grad - exact[1]).abs().max() < 1e-4 * exact[1].abs().max()


@pytest.mark.parametrize("name", LOOPED)
def test_loops_refuse_what_the_layer_refuses(name):
    module = LOOPED[name].normalization(4)
    with pytest.raises(ValueError, match="needs more than one value per"):
        by_loops(module, torch.randn(5, 4, 1, 1))


def test_moments_in_one_loop_do_not_cancel_wherever_unusual_values_lie():
    x = torch.randn(4, 3, 8, 8) + 1e4
    x[0, :, ::2, 0] = 0  # the very positions from which the shift is taken
    mean, var = shifted_moments(x)
    exact = x.double().flatten(2)
    torch.testing.assert_close(mean.double(), exact.mean(2), rtol=1e-6, atol=0)
    torch.testing.assert_close(var.double(), exact.var(2, correction=0), rtol=1e-3, atol=0)
