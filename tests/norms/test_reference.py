"""Every scheme against its paper's formula in NumPy: outputs, gradients, running state, evaluation mode."""

import copy

import numpy as np
import pytest
import reference
import torch
from every_scheme import CHANNELS, CONFIGS, formula, has_formula, instantiate, normalizes, randomize
from torch import nn
from torch.nn.utils import parametrize

SMALL_BATCHES = True
ON_WEIGHTS = [name for name, function in reference.WEIGHTS.items() if function is not reference.plain_weight]
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


def test_every_scheme_has_a_reference(scheme, norm):
    """... which also says what the scheme leaves alone."""
    assert has_formula(scheme), "write its formula in tests/norms/reference.py or tests/norms/references/"
    assert isinstance(norm.normalization(CHANNELS), nn.Identity) != normalizes(scheme)
    layer = nn.Linear(5, 4)
    assert (norm.parametrize(layer) is layer and not parametrize.is_parametrized(layer)) != (scheme in ON_WEIGHTS)


def channels_first(x):
    return torch.tensor(x)


def channels_last(x):
    return torch.tensor(x).movedim(1, -1).contiguous().movedim(-1, 1)


def test_training(scheme, norm, shape):
    """Output and gradients, in both memory layouts."""
    module, x = case(norm, shape)
    made = formula(scheme, module)
    weight, bias = affine(module)
    cotangent = np.random.default_rng(1).normal(size=shape)
    found = [trained(copy.deepcopy(module), layout, x, cotangent) for layout in (channels_first, channels_last)]
    expected = {"output": made.train(x, weight, bias)}
    if CONFIGS[scheme].get("_gradient_") != "approximate":  # as published: test_online.py has its own reference
        expected |= gradients_of(made, x, weight, bias, cotangent)
    for each in found:
        for key, value in expected.items():
            np.testing.assert_allclose(each[key], value, **EXACT, err_msg=key)


def trained(module, layout, x, cotangent):
    """Return output and gradients of one training step."""
    leaf = layout(x).requires_grad_()
    y = module(leaf)
    y.backward(layout(cotangent))
    gradients = {key: parameter.grad.numpy() for key, parameter in module.named_parameters()}
    return {"output": y.detach().numpy(), "x": leaf.grad.numpy(), **gradients}


def gradients_of(made, x, weight, bias, cotangent):
    """Return the formula's gradients of x, weight and bias where there are any, and further parameters."""
    functions = {"x": (lambda moved: made.train(moved, weight, bias), x)}
    if weight is not None:
        functions["weight"] = (lambda moved: made.train(x, moved, bias), weight)
    if bias is not None:
        functions["bias"] = (lambda moved: made.train(x, weight, moved), bias)
    for key, point in made.parameters.items():
        functions[key] = (lambda moved, key=key: made.train_with(key, moved, x, weight, bias), point)
    return {key: reference.gradient(function, point, cotangent) for key, (function, point) in functions.items()}


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
    cotangent = np.random.default_rng(1).normal(size=shape)
    leaf = torch.tensor(x, requires_grad=True)
    y = module(leaf)
    y.backward(torch.tensor(cotangent))
    np.testing.assert_allclose(y.detach().numpy(), made.evaluate(x, *affine(module)), **EXACT)
    expected = reference.gradient(lambda moved: made.evaluate(moved, *affine(module)), x, cotangent)
    np.testing.assert_allclose(leaf.grad.numpy(), expected, **EXACT)


@pytest.mark.parametrize("kind", ["linear", "conv"])
@pytest.mark.parametrize("name", ON_WEIGHTS)
def test_weight(name, kind):
    layer = nn.Linear(5, 4) if kind == "linear" else nn.Conv2d(3, 4, 3)
    layer = randomize(instantiate(CONFIGS[name]).parametrize(layer.double()))
    for _ in range(50):
        _ = layer.weight  # a power iteration converges
    parameters = {name.rpartition(".")[2]: parameter for name, parameter in layer.named_parameters()}
    v = next(parameters[name] for name in ("original1", "original", "weight") if name in parameters)
    g = next((parameters[name] for name in ("original0", "gain", "gamma") if name in parameters), None)
    g = torch.ones(4, *[1] * (v.dim() - 1)) if g is None else g
    v0, g0 = v.detach().numpy(), g.detach().numpy()
    function = reference.WEIGHTS[name]
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
