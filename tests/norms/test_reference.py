"""Every scheme against its paper's formula in NumPy: outputs, gradients, running state, evaluation mode."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import torch
from conftest import CHANNELS, CONFIGS, formula, has_formula, randomize
from torch import nn

SMALL_BATCHES = True
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def affine(module: nn.Module) -> list:
    """Return the module's weight and bias as arrays, None where it has none."""
    parameters = dict(module.named_parameters())
    return [parameters[name].detach().numpy() if name in parameters else None for name in ("weight", "bias")]


def case(norm, shape, seed=0):
    """Return the activation module in double, and an input that is not standardized already."""
    module = randomize(norm.normalization(CHANNELS).double())
    x = np.random.default_rng(seed).normal(1.7, 3.0, shape) * np.linspace(0.5, 2, CHANNELS).reshape(
        1, -1, *[1] * (len(shape) - 2)
    )
    return module, x


def test_every_scheme_has_a_reference(scheme):
    assert has_formula(scheme), "write its formula in tests/norms/reference.py or tests/norms/references/"


def channels_first(x):
    return torch.tensor(x)


def channels_last(x):
    return torch.tensor(x).movedim(1, -1).contiguous().movedim(-1, 1)


@pytest.mark.parametrize("layout", [channels_first, channels_last])
def test_training_output(scheme, norm, shape, layout):
    module, x = case(norm, shape)
    expected = formula(scheme, module).train(x, *affine(module))
    np.testing.assert_allclose(module(layout(x)).detach().numpy(), expected, **EXACT)


@pytest.mark.parametrize("layout", [channels_first, channels_last])
def test_gradients(scheme, norm, shape, layout):
    if CONFIGS[scheme].get("_gradient_") == "approximate":
        pytest.skip("its backward is not the derivative, as published")
    module, x = case(norm, shape)
    made = formula(scheme, module)
    weight, bias = affine(module)
    cotangent = np.random.default_rng(1).normal(size=shape)
    leaf = layout(x).requires_grad_()
    module(leaf).backward(layout(cotangent))
    parameters = dict(module.named_parameters())
    pairs = [(leaf.grad, lambda moved: made.train(moved, weight, bias), x)]
    if weight is not None:
        pairs.append((parameters["weight"].grad, lambda moved: made.train(x, moved, bias), weight))
    if bias is not None:
        pairs.append((parameters["bias"].grad, lambda moved: made.train(x, weight, moved), bias))
    for key, point in made.parameters.items():
        pairs.append((parameters[key].grad, lambda moved, key=key: made.train_with(key, moved, x, weight, bias), point))
    for found, function, point in pairs:
        np.testing.assert_allclose(found.numpy(), reference.gradient(function, point, cotangent), **EXACT)


def test_running_state_and_evaluation(scheme, norm, shape):
    module, x = case(norm, shape)
    made = formula(scheme, module)
    for seed in range(4):
        _, batch = case(norm, shape, seed)
        module(torch.tensor(batch))
        made.observe(batch)
    buffers = {key: value for key, value in module.named_buffers() if key != "num_batches_tracked"}
    assert buffers.keys() == made.running.keys()
    for key, value in made.running.items():
        np.testing.assert_allclose(buffers[key].numpy(), value, **EXACT)
    module.eval()
    expected = made.evaluate(x, *affine(module))
    np.testing.assert_allclose(module(torch.tensor(x)).detach().numpy(), expected, **EXACT)


def test_evaluation_gradients(scheme, norm, shape):
    module, x = case(norm, shape)
    made = formula(scheme, module)
    module(torch.tensor(x))
    made.observe(x)
    module.eval()
    cotangent = np.random.default_rng(1).normal(size=shape)
    leaf = torch.tensor(x, requires_grad=True)
    module(leaf).backward(torch.tensor(cotangent))
    expected = reference.gradient(lambda moved: made.evaluate(moved, *affine(module)), x, cotangent)
    np.testing.assert_allclose(leaf.grad.numpy(), expected, **EXACT)


@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_weight(scheme, norm, kind):
    layer = nn.Linear(5, 4) if kind == "linear" else nn.Conv2d(3, 4, 3)
    layer = randomize(norm.parametrize(layer.double()))
    for _ in range(50):
        _ = layer.weight  # a power iteration converges
    parameters = {name.rpartition(".")[2]: parameter for name, parameter in layer.named_parameters()}
    v = next(parameters[name] for name in ("original1", "original", "weight") if name in parameters)
    g = next((parameters[name] for name in ("original0", "gain", "gamma") if name in parameters), None)
    g = torch.ones(4, *[1] * (v.dim() - 1)) if g is None else g
    v0, g0 = v.detach().numpy(), g.detach().numpy()
    function = reference.WEIGHTS.get(scheme, reference.plain_weight)
    np.testing.assert_allclose(layer.weight.detach().numpy(), function(v0, g0), **EXACT)
    cotangent = np.random.default_rng(1).normal(size=v0.shape)
    layer.weight.backward(torch.tensor(cotangent))
    expected = reference.gradient(lambda moved: function(moved, g0), v0, cotangent)
    np.testing.assert_allclose(v.grad.numpy(), expected, **EXACT)
    if g.requires_grad:
        expected = reference.gradient(lambda moved: function(v0, moved), g0, cotangent)
        np.testing.assert_allclose(g.grad.numpy(), expected, **EXACT)


def test_group_reference_with_fewer_groups():
    from normexp.norms.group import GroupNorm

    x = np.random.default_rng(0).normal(2, 3, (3, 6, 4))
    expected = reference.Group({"num_groups": 2, "eps": 1e-5}).normalize(x)
    found = GroupNorm(num_groups=2).normalization(6).double()(torch.tensor(x))
    np.testing.assert_allclose(found.detach().numpy(), expected, **EXACT)
