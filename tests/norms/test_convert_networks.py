"""`convert` and `fold` on networks of torchvision and timm: a network stays what it is, or is left alone."""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path

import pytest
import torch
from conftest import CONFIGS, instantiate
from torch import nn

from normexp.norms.base import weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.fold import fold
from normexp.norms.group import GroupNorm
from normexp.norms.kernels.modules import NORMS, is_nonlinearity
from normexp.norms.stack import Stack

pytest.importorskip("timm")
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from networks import NETWORKS, build, shape

SAMPLE = ("timm test_resnet", "timm test_efficientnet", "torchvision squeezenet1_1", "timm lcnet_050")
each_network = pytest.mark.parametrize(
    "network", [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.networks) for name in NETWORKS]
)
SCHEMES = [name for name in CONFIGS if name != "stack"]
QUICK = ("none", "batch", "group", "weight", "normprop", "evonorm_s0", "filter_response")  # of the sample
REPLACING = {"evonorm_s0", "evonorm_b0", "filter_response"}
# Nothing trains, or even stays finite, through a dozen layers of these alone, as they are published.
WITH_GROUP = {"weight_standard"}
TINY_MAPS = r"more than (one|1) value|more than 16"  # maps of one pixel, at the end of a network for 64 x 64 pixels


def scheme_of(name):
    norm = instantiate(CONFIGS[name])
    return Stack(weights=norm, activations=GroupNorm()) if name in WITH_GROUP else norm


def units(model):
    """Return how many activation functions the network holds, those inside normalizations too."""
    return sum(is_nonlinearity(module) for module in model.modules())


def gates(model):
    """Return how many of its normalizations bring a nonlinearity of their own: EvoNorm's gates, FRN's thresholds."""
    modules = list(model.modules())
    own = sum(type(module).__module__.startswith("normexp.norms.evonorm") for module in modules)
    return own + sum(isinstance(getattr(module, "threshold", None), nn.Parameter) for module in modules)


def nonaffine(model, network):
    """Return how far the network in evaluation is from an affine map, relative to its values."""
    model = copy.deepcopy(model).eval().double()
    source = torch.Generator().manual_seed(2)
    a, b = (torch.randn(1, *shape(network), dtype=torch.double, generator=source) for _ in range(2))
    with torch.no_grad():
        whole, first, second, zero = (model(x) for x in (a + b, a, b, 0 * a))
    return float((whole - first - second + zero).abs().max() / (whole - zero).abs().max())


def kinds(model):
    return [(name, type(module)) for name, module in model.named_modules()]


@each_network
def test_converted_network_is_the_network_it_was_or_is_left_alone(network):
    torch.manual_seed(0)
    original = build(network)
    x = torch.randn(4, *shape(network))
    torch.manual_seed(1)
    original(x)  # running estimates move from their start
    reached = reached_parameters(original, x)
    expected = nonaffine(original, network)
    for name in QUICK if network in SAMPLE else SCHEMES:
        model, norm = copy.deepcopy(original), scheme_of(name)
        if refusal := error_of(convert, model, norm):
            assert "cannot be converted" in refusal
            assert "\n" not in refusal
            assert kinds(model) == kinds(original), name
            continue
        check_counts(model, original, norm, name)
        norm.initialize(model, x)
        if refusal := error_of(check_gradients, model, x, reached, name):
            assert re.search(TINY_MAPS, refusal), (name, refusal)
            continue
        if expected > 1e-3:
            assert nonaffine(model, network) > 1e-4, name


def error_of(function, *arguments):
    """Return the ValueError that the function raises, as text."""
    try:
        function(*arguments)
    except ValueError as error:
        return str(error)
    return ""


def reached_parameters(model, x):
    """Return how many parameters get a gradient at all: some networks have some that nothing reads."""
    model = copy.deepcopy(model)
    model(x).square().sum().backward()
    return sum(parameter.grad is not None for parameter in model.parameters()), sum(1 for _ in model.parameters())


def check_counts(model, original, norm, name):
    """As many layers and weights as before, as many normalizations, and nonlinear units but those that it brings."""
    layers, before = weight_layers(model), weight_layers(original)
    assert [layer.weight.shape for layer in layers] == [layer.weight.shape for layer in before], name
    brought = gates(model)
    if name in REPLACING:
        assert units(model) + brought == units(original), name
    else:  # what wraps an activation may be counted as one itself
        assert brought == 0, name
        assert units(model) >= units(original), name
    kind = type(norm.normalization(64))
    norms = sum(isinstance(module, NORMS) for module in original.modules())
    if kind is not nn.Identity and norms and name not in REPLACING and not isinstance(norm, Stack):
        assert sum(isinstance(module, kind) for module in model.modules()) == norms, name


def check_gradients(model, x, reached, name):
    torch.manual_seed(1)
    y = model.train()(x)
    assert y.isfinite().all(), name
    y.square().mean().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    with_gradient, all_of_them = reached
    assert sum(each is None for each in gradients) <= all_of_them - with_gradient, name
    assert all(each.isfinite().all() for each in gradients if each is not None), name


@each_network
def test_batch_norm_in_place_of_batch_norm_changes_nothing(network):
    torch.manual_seed(0)
    original = build(network)
    found = [module for module in original.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    settings = {(module.eps, module.momentum) for module in found}
    if len(settings) != 1 or any(isinstance(module, nn.GroupNorm) for module in original.modules()):
        pytest.skip("no batch normalization, or of several kinds")
    x = torch.randn(4, *shape(network))
    torch.manual_seed(1)
    original(x)
    (eps, momentum), state = settings.pop(), copy.deepcopy(original).eval()
    model = copy.deepcopy(state)
    if refusal := error_of(convert, model, BatchNorm(eps=eps, momentum=momentum)):
        pytest.skip(refusal)
    torch.testing.assert_close(model(x), state(x))
    assert not any(module.training for module in model.modules())
    assert all(a.shape == b.shape for a, b in zip(model.parameters(), state.parameters(), strict=False))


@each_network
def test_folded_network_is_the_same_function(network):
    torch.manual_seed(0)
    model = build(network).double()
    x = torch.randn(4, *shape(network), dtype=torch.double)
    torch.manual_seed(1)
    model(x)
    model.eval()
    before, expected = kinds(model), model(x).detach()
    if refusal := error_of(fold, model):
        assert "cannot be traced" in refusal
        assert kinds(model) == before
    torch.testing.assert_close(model(x), expected, rtol=1e-12, atol=1e-12 * float(expected.abs().max()))
