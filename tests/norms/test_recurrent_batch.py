"""Recurrent batch normalization: one set of running estimates per time step, one weight and bias for all."""

from __future__ import annotations

import pytest
import torch

from normexp.norms.batch import BatchNorm
from normexp.norms.recurrent_batch import RecurrentBatchNorm

STEPS = 3


def test_each_step_is_batch_normalization_with_estimates_of_its_own():
    module = RecurrentBatchNorm().recurrent(4, STEPS)
    others = [BatchNorm().activation(4) for _ in range(STEPS)]
    for _ in range(5):
        for t, other in enumerate(others):
            x = torch.randn(6, 4) * (t + 1) + t
            torch.testing.assert_close(module(x, t), 0.1 * other(x))
    module.eval()
    x = torch.randn(6, 4)
    for t, other in enumerate(others):
        torch.testing.assert_close(module(x, t), 0.1 * other.eval()(x))
    assert not torch.allclose(module(x, 0), module(x, 1))


def test_last_step_serves_beyond_the_last():
    module = RecurrentBatchNorm().recurrent(4, STEPS)
    for t in range(STEPS):
        module(torch.randn(6, 4) * (t + 1), t)
    module.eval()
    x = torch.randn(6, 4)
    assert torch.equal(module(x, 7), module(x, STEPS - 1))
    assert not torch.equal(module(x, 7), module(x, STEPS - 2))


def test_weight_and_bias_are_shared_and_start_at_the_papers_values():
    module = RecurrentBatchNorm().recurrent(4, STEPS)
    assert {name: tuple(p.shape) for name, p in module.named_parameters()} == {"weight": (4,), "bias": (4,)}
    assert module.weight.tolist() == pytest.approx([0.1] * 4)
    assert module.bias.tolist() == [0.0] * 4
    assert [name for name, _ in RecurrentBatchNorm(bias=False).recurrent(4, 2).named_parameters()] == ["weight"]
    assert [name for name, _ in RecurrentBatchNorm().recurrent(4, 2, "term").named_parameters()] == ["weight"]
    assert RecurrentBatchNorm().recurrent(4, 2, "lstm").does_nothing


def test_gradient_flows_through_all_steps():
    module = RecurrentBatchNorm().recurrent(4, STEPS).double()
    x = torch.randn(6, 4, dtype=torch.double, requires_grad=True)

    def run(x):
        for t in range(STEPS):
            x = torch.tanh(module(x, t))
        return x

    assert torch.autograd.gradcheck(run, [x])


def test_state_dict_round_trip():
    module, copy = (RecurrentBatchNorm().recurrent(4, STEPS) for _ in range(2))
    module(torch.randn(6, 4) + 3, 1)
    copy.load_state_dict(module.state_dict())
    x = torch.randn(6, 4)
    assert torch.equal(module.eval()(x, 1), copy.eval()(x, 1))


def test_elsewhere_it_is_batch_normalization():
    x = torch.randn(6, 4, 3)
    assert torch.equal(RecurrentBatchNorm().activation(4)(x), BatchNorm().activation(4)(x))


def test_impossible_values_are_refused():
    with pytest.raises(ValueError, match="more than one value"):
        RecurrentBatchNorm().recurrent(4, STEPS)(torch.randn(1, 4), 0)
    with pytest.raises(ValueError, match="max_steps must be at least 1, not 0"):
        RecurrentBatchNorm().recurrent(4, 0)
    with pytest.raises(ValueError, match="gain must be above 0, not 0"):
        RecurrentBatchNorm(gain=0.0)
