"""Formulae that have a form of their own for a compiler: the same numbers as the ordinary one."""

import pytest
import torch

from normexp.norms.kernels import spread
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
