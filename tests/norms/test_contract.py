"""What every scheme's activation module owes its caller, whatever its formula."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import CHANNELS, CONFIGS, formula, randomize
from torch import nn

from normexp.norms.base import Norm

SMALL_BATCHES = True
FORMATS = [torch.contiguous_format, torch.channels_last]
NEEDS_MAPS = [name for name, config in CONFIGS.items() if config.get("_needs_") == "maps"]
# Online normalization: its backward is a control process, its statistics come from single examples of the past.
# test_online.py holds it to a loop over examples instead.
APPROXIMATE = [name for name, config in CONFIGS.items() if config.get("_gradient_") == "approximate"]
MIXES_EXAMPLES = [name for name, config in CONFIGS.items() if config["_batch_statistics_"]]


def test_is_a_norm(norm):
    assert isinstance(norm, Norm)


def test_shape_and_type(norm, shape):
    module = norm.normalization(CHANNELS)
    for x in (torch.randn(shape), torch.randn(shape, dtype=torch.double)):
        y = module.to(x.dtype)(x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)


def test_gradcheck(scheme, norm, shape):
    if scheme in APPROXIMATE:
        pytest.skip("its backward is not the derivative, as published")
    module = randomize(norm.normalization(CHANNELS).double())
    x = torch.randn(shape, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(module, [x])


def test_second_derivative(scheme, norm):
    if scheme in APPROXIMATE:
        pytest.skip("its backward is not the derivative, as published")
    module = randomize(norm.normalization(4).double())
    x = torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradgradcheck(module, [x])


def test_state_dict_round_trip(norm, shape):
    module = norm.normalization(CHANNELS)
    module(torch.randn(shape) + 3)
    copy = norm.normalization(CHANNELS)
    copy.load_state_dict(module.state_dict())
    x = torch.randn(shape)
    assert torch.equal(module.eval()(x), copy.eval()(x))


def test_evaluation_changes_no_state(norm, shape):
    module = norm.normalization(CHANNELS).eval()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    module(torch.randn(shape) + 3)
    assert all(torch.equal(before[key], value) for key, value in module.state_dict().items())


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_accuracy_at_an_offset(scheme, norm, memory_format, affine, offset):
    """E[x^2] - E[x]^2 would lose every digit here; the rounding of the mean alone costs percents at 1e6."""
    module = norm.normalization(CHANNELS)
    if not affine and hasattr(norm, "affine"):
        module = replace(norm, affine=False).normalization(CHANNELS)
    x = (torch.randn(8, CHANNELS, 6, 6) * 16 + offset).contiguous(memory_format=memory_format)
    expected = formula(scheme).train(x.double().numpy(), None, None)
    error = np.abs(module(x).detach().double().numpy() - expected).max()
    assert error <= (5e-2 if offset == 1e6 else 1e-4) * expected.std()


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("affine", [True, False])
def test_half_precision_keeps_statistics_in_float32(scheme, norm, dtype, memory_format, affine):
    """At a mean of 100 a bfloat16 mean is off by up to 0.25, and a float16 sum of 2,048 values is infinite."""
    module = norm.normalization(CHANNELS)
    if not affine and hasattr(norm, "affine"):
        module = replace(norm, affine=False).normalization(CHANNELS)
    x = (torch.randn(8, CHANNELS, 16, 16) + 100).to(dtype).contiguous(memory_format=memory_format)
    y = module(x)
    expected = formula(scheme).train(x.double().numpy(), None, None)
    assert y.dtype == dtype
    rounding = torch.finfo(dtype).eps * np.abs(expected)
    assert (np.abs(y.detach().double().numpy() - expected) <= rounding + 1e-3).all()
    assert all(value.dtype != dtype for value in module.state_dict().values())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_half_precision_gradient(norm, shape, dtype, training, affine):
    """The mean that backward uses must be in float32 too: with a bfloat16 one the error is a quarter."""
    options = {"affine": affine} if hasattr(norm, "affine") else {}
    module = replace(norm, **options).normalization(CHANNELS).train(training)
    x = (torch.randn(shape) + 100).to(dtype)
    cotangent = torch.randn_like(x)
    results = []
    for leaf in (x.clone().requires_grad_(), x.double().requires_grad_()):
        each = deepcopy(module).to(torch.float64 if leaf.dtype == torch.float64 else torch.float32)
        grads = torch.autograd.grad(each(leaf), [leaf, *each.parameters()], cotangent.to(leaf.dtype))
        results.append([grad.double() for grad in grads])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("value", [0.0, 1.0, -1e4])
def test_constant_input_is_finite(norm, shape, value):
    module = norm.normalization(CHANNELS)
    x = torch.full(shape, value, requires_grad=True)
    y = module(x)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


def test_maps_of_one_pixel(scheme, norm):
    module = norm.normalization(CHANNELS)
    x = torch.randn(4, CHANNELS, 1, 1)
    if scheme in NEEDS_MAPS:
        with pytest.raises(ValueError, match="more than one value"):
            module(x)
    else:
        torch.testing.assert_close(module(x), norm.normalization(CHANNELS)(x.flatten(1)).view_as(x))


def test_no_maps_at_all(scheme, norm):
    if scheme in NEEDS_MAPS:
        with pytest.raises(ValueError, match="more than one value"):
            norm.normalization(CHANNELS)(torch.randn(4, CHANNELS))
    else:
        assert norm.normalization(CHANNELS)(torch.randn(4, CHANNELS)).isfinite().all()


def test_one_example(scheme, norm):
    module = norm.normalization(CHANNELS)
    x = torch.randn(1, CHANNELS)
    if scheme in MIXES_EXAMPLES and scheme not in APPROXIMATE:
        with pytest.raises(ValueError, match=r"more than 1 value|more than one value"):
            module(x)
    elif scheme not in NEEDS_MAPS:
        assert module(x).isfinite().all()
    assert module(torch.randn(1, CHANNELS, 3, 3)).isfinite().all()
    if scheme not in NEEDS_MAPS:
        assert module.eval()(x).isfinite().all()


def test_examples_are_mixed_as_the_config_says(scheme, norm):
    module = norm.normalization(CHANNELS)
    x = torch.randn(4, CHANNELS, 3, 3)
    other = torch.cat([x[:1], torch.randn(3, CHANNELS, 3, 3)])
    same = torch.equal(module(x)[0], module(other)[0])
    assert same == (scheme not in MIXES_EXAMPLES)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.contiguous(memory_format=torch.channels_last),
        lambda x: x.permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0),
        lambda x: x.repeat_interleave(2, dim=3)[..., ::2],
        lambda x: x.repeat_interleave(2, dim=1)[:, ::2],
    ],
    ids=["channels_last", "permuted", "every second column", "every second channel"],
)
def test_memory_layout_changes_nothing(norm, view):
    module = randomize(norm.normalization(CHANNELS))
    x = torch.randn(4, CHANNELS, 5, 3)
    cotangent = torch.randn_like(x)
    results = []
    for leaf in (x.requires_grad_(), view(x.detach()).requires_grad_()):
        each = deepcopy(module)
        y = each(leaf)
        results.append([y, *torch.autograd.grad(y, [leaf, *each.parameters()], cotangent)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
def test_channels_last_stays(norm, offset, dtype, training):
    x = (torch.randn(4, CHANNELS, 5, 3) + offset).to(dtype).contiguous(memory_format=torch.channels_last)
    module = norm.normalization(CHANNELS).train(training)
    assert module(x).is_contiguous(memory_format=torch.channels_last)


def test_momentum_is_the_weight_of_the_new_batch(scheme, norm):
    """The values 0, 2, 4 from PyTorch's start: mean 0.9 * 0 + 0.1 * 2, variance 0.9 * 1 + 0.1 * 4 (unbiased)."""
    module = norm.normalization(CHANNELS)
    module(torch.tensor([0.0, 2.0, 4.0]).view(1, 1, 3).repeat(1, CHANNELS, 1))
    state, momentum = dict(module.named_buffers()), getattr(norm, "momentum", 0.1)
    if "running_mean" in state:
        torch.testing.assert_close(state["running_mean"], torch.full((CHANNELS,), momentum * 2))
    if "running_var" in state and scheme not in APPROXIMATE:
        torch.testing.assert_close(state["running_var"], torch.full((CHANNELS,), 1 - momentum + momentum * 4))


def test_cancelled_bias_changes_nothing(norm):
    module = norm.normalization(CHANNELS)
    x = torch.randn(4, CHANNELS, 3, 3, dtype=torch.double)
    shifted = x + torch.randn(1, CHANNELS, 1, 1, dtype=torch.double)
    same = torch.allclose(module.double()(x), module(shifted), atol=1e-12)
    assert same == norm.cancels_bias


@pytest.mark.parametrize("change", [{"eps": 0.0}, {"eps": -1.0}, {"momentum": 0.0}, {"momentum": 1.5}])
def test_impossible_values_are_refused(norm, change):
    name, value = next(iter(change.items()))
    if hasattr(norm, name):
        with pytest.raises(ValueError, match=rf"^{name} must be [^\n]*{value}"):
            type(norm)(**change)


def test_impossible_placement_is_refused(norm):
    with pytest.raises(ValueError, match="'pre' or 'post', not 'before'"):
        type(norm)(placement="before")


def test_time_steps_of_a_recurrent_network(scheme, norm):
    if scheme in NEEDS_MAPS:
        pytest.skip("no maps in a recurrent network")
    module = norm.recurrent(CHANNELS, max_steps=3)
    assert module(torch.randn(4, CHANNELS), 2).shape == (4, CHANNELS)


def test_autocast(norm):
    block = norm.block(nn.Conv2d(3, CHANNELS, 3), nn.ReLU())
    x = torch.randn(4, 3, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        found = block(x)
        found.float().square().mean().backward()
    torch.testing.assert_close(found.float(), block(x), rtol=0.05, atol=0.05)
    assert all(parameter.grad.isfinite().all() for parameter in block.parameters())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("memory_format", FORMATS)
def test_compiled_numbers_are_the_same(norm, memory_format):
    torch._dynamo.reset()
    block = randomize(norm.block(nn.Conv2d(3, CHANNELS, 3), nn.Tanh()).double())
    compiled = torch.compile(deepcopy(block), backend="aot_eager")  # a copy: the call changes running state
    x = (torch.randn(4, 3, 8, 8, dtype=torch.double) + 1).contiguous(memory_format=memory_format)
    results = []
    for each in (compiled, block):
        y = each(x)
        results.append([y, *torch.autograd.grad(y.square().sum(), list(each.parameters()))])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)
