"""Every scheme against its paper's formula in NumPy: outputs, gradients, running state, evaluation mode."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import torch
from conftest import CHANNELS, CONFIGS, randomize
from torch import nn

EXACT = {"rtol": 1e-10, "atol": 1e-10}


def affine(module: nn.Module) -> list:
    """Return the module's weight and bias as arrays, None where it has none."""
    parameters = dict(module.named_parameters())
    return [parameters[name].detach().numpy() if name in parameters else None for name in ("weight", "bias")]


def case(norm, shape, seed=0):
    """Return the activation module in double, and an input that is not standardized already."""
    module = randomize(norm.activation(CHANNELS).double())
    x = np.random.default_rng(seed).normal(1.7, 3.0, shape) * np.linspace(0.5, 2, CHANNELS).reshape(
        1, -1, *[1] * (len(shape) - 2)
    )
    return module, x


def test_every_scheme_has_a_reference(scheme):
    assert scheme in reference.ACTIVATIONS, "write its formula in tests/norms/reference.py"
    assert scheme in reference.WEIGHTS


def channels_first(x):
    return torch.tensor(x)


def channels_last(x):
    return torch.tensor(x).movedim(1, -1).contiguous().movedim(-1, 1)


@pytest.mark.parametrize("layout", [channels_first, channels_last])
def test_training_output(scheme, norm, shape, layout):
    module, x = case(norm, shape)
    expected = reference.ACTIVATIONS[scheme](CONFIGS[scheme]).train(x, *affine(module))
    np.testing.assert_allclose(module(layout(x)).detach().numpy(), expected, **EXACT)


@pytest.mark.parametrize("layout", [channels_first, channels_last])
def test_gradients(scheme, norm, shape, layout):
    module, x = case(norm, shape)
    formula = reference.ACTIVATIONS[scheme](CONFIGS[scheme])
    weight, bias = affine(module)
    cotangent = np.random.default_rng(1).normal(size=shape)
    leaf = layout(x).requires_grad_()
    module(leaf).backward(layout(cotangent))
    parameters = dict(module.named_parameters())
    pairs = [(leaf.grad, lambda moved: formula.train(moved, weight, bias), x)]
    if weight is not None:
        pairs.append((parameters["weight"].grad, lambda moved: formula.train(x, moved, bias), weight))
    if bias is not None:
        pairs.append((parameters["bias"].grad, lambda moved: formula.train(x, weight, moved), bias))
    for found, function, point in pairs:
        np.testing.assert_allclose(found.numpy(), reference.gradient(function, point, cotangent), **EXACT)


def test_running_state_and_evaluation(scheme, norm, shape):
    module, x = case(norm, shape)
    formula = reference.ACTIVATIONS[scheme](CONFIGS[scheme])
    for seed in range(4):
        _, batch = case(norm, shape, seed)
        module(torch.tensor(batch))
        formula.observe(batch)
    buffers = {key: value for key, value in module.named_buffers() if key != "num_batches_tracked"}
    assert buffers.keys() == formula.running.keys()
    for key, value in formula.running.items():
        np.testing.assert_allclose(buffers[key].numpy(), value, **EXACT)
    module.eval()
    expected = formula.evaluate(x, *affine(module))
    np.testing.assert_allclose(module(torch.tensor(x)).detach().numpy(), expected, **EXACT)


def test_evaluation_gradients(scheme, norm, shape):
    module, x = case(norm, shape)
    formula = reference.ACTIVATIONS[scheme](CONFIGS[scheme])
    module(torch.tensor(x))
    formula.observe(x)
    module.eval()
    cotangent = np.random.default_rng(1).normal(size=shape)
    leaf = torch.tensor(x, requires_grad=True)
    module(leaf).backward(torch.tensor(cotangent))
    expected = reference.gradient(lambda moved: formula.evaluate(moved, *affine(module)), x, cotangent)
    np.testing.assert_allclose(leaf.grad.numpy(), expected, **EXACT)


@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_weight(scheme, norm, kind):
    layer = nn.Linear(5, 4) if kind == "linear" else nn.Conv2d(3, 4, 3)
    layer = randomize(norm.weight(layer.double()))
    parameters = dict(layer.named_parameters())
    v = parameters.get("parametrizations.weight.original1", parameters.get("weight"))
    g = parameters.get("parametrizations.weight.original0", torch.ones(4, *[1] * (v.dim() - 1)))
    v0, g0 = v.detach().numpy(), g.detach().numpy()
    formula = reference.WEIGHTS[scheme]
    np.testing.assert_allclose(layer.weight.detach().numpy(), formula(v0, g0), **EXACT)
    cotangent = np.random.default_rng(1).normal(size=v0.shape)
    layer.weight.backward(torch.tensor(cotangent))
    expected = reference.gradient(lambda moved: formula(moved, g0), v0, cotangent)
    np.testing.assert_allclose(v.grad.numpy(), expected, **EXACT)
    if g.requires_grad:
        expected = reference.gradient(lambda moved: formula(v0, moved), g0, cotangent)
        np.testing.assert_allclose(g.grad.numpy(), expected, **EXACT)


def test_group_reference_with_fewer_groups():
    from normexp.norms.group import GroupNorm

    x = np.random.default_rng(0).normal(2, 3, (3, 6, 4))
    expected = reference.Group({"num_groups": 2, "eps": 1e-5}).normalize(x)
    found = GroupNorm(num_groups=2).activation(6).double()(torch.tensor(x))
    np.testing.assert_allclose(found.detach().numpy(), expected, **EXACT)
