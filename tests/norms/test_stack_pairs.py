"""Every pair of schemes as a stack: either it is what the parts are one after the other, or it is refused."""

import copy
from itertools import product

import pytest
import torch
from every_scheme import CHANNELS, CONFIGS, instantiate
from torch import nn
from torch.nn.utils import parametrize

from normexp.norms.base import weight_layers
from normexp.norms.normprop import NormProp
from normexp.norms.stack import Stack
from normexp.norms.weight import WeightNorm
from normexp.seeding import seed_all

pytestmark = pytest.mark.slow  # every pair; test_stack.py has the quick ones

PARTS = [name for name in CONFIGS if name not in ("stack", "weight_mean_only")]
SCHEMES = {name: instantiate(CONFIGS[name]) for name in PARTS}
ON_WEIGHTS = {"weight", "normprop", "spectral", "weight_standard", "scaled_weight_standard"}
OWN_UNIT = {"evonorm_s0", "evonorm_b0", "filter_response"}


def refused(name, second):
    return {name, second} <= ON_WEIGHTS or {name, second} <= OWN_UNIT


@pytest.mark.parametrize("first", PARTS)
def test_stack_of_every_pair_is_its_parts_in_order(first):
    x = torch.randn(32, 3, 4, 4)
    for i, second in enumerate(PARTS):
        if refused(first, second):
            with pytest.raises(ValueError, match=r"both (set the weights|replace the nonlinearity)"):
                Stack(weights=SCHEMES[first], activations=SCHEMES[second])
            continue
        stack = Stack(weights=SCHEMES[first], activations=SCHEMES[second])
        fn = (nn.Tanh(), None)[(i + PARTS.index(first)) % 2]  # before a nonlinearity and as an output, in turn
        seed_all(0)
        block = stack.block(nn.Conv2d(3, CHANNELS, 3), fn)
        found = copy.deepcopy(block)(x)
        expected = nn.Sequential(block[0], *normalizations(SCHEMES[first], fn), *normalizations(SCHEMES[second], fn))
        if fn is not None:
            expected.append(SCHEMES[second].nonlinearity(SCHEMES[first].nonlinearity(fn)))
        torch.testing.assert_close(found, expected(x), msg=lambda text: f"{first} + {second}: {text}")  # noqa: B023
        found.square().mean().backward()


def normalizations(norm, fn):
    """Return what the scheme puts behind a layer for its outputs: in front of a nonlinearity or of none."""
    return [norm.linear_normalization(CHANNELS) if fn is None else norm.normalization(CHANNELS)]


@pytest.mark.parametrize(("part", "other"), list(product(sorted(OWN_UNIT), ["none", "weight"])))
def test_stack_leaves_an_output_layer_as_its_parts_do(part, other):
    """No gate and no threshold on logits."""
    alone = SCHEMES[part].block(nn.Linear(4, CHANNELS))
    for stack in (
        Stack(weights=SCHEMES[part], activations=SCHEMES[other]),
        Stack(weights=SCHEMES[other], activations=SCHEMES[part]),
    ):
        assert [type(each) for each in stack.block(nn.Linear(4, CHANNELS))[1:]] == [type(each) for each in alone[1:]]
        assert all(getattr(each, "threshold", None) is None for each in stack.block(nn.Linear(4, CHANNELS)))


@pytest.mark.parametrize("part", sorted(OWN_UNIT))
def test_stack_has_no_placement_that_a_part_refuses(part):
    for stack in ({"weights": SCHEMES[part]}, {"activations": SCHEMES[part]}):
        with pytest.raises(ValueError, match="placement must be 'pre', not 'post'"):
            Stack(**stack, placement="post")


def test_stack_of_two_schemes_for_weights_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^NormProp and WeightNorm both set the weights: a stack takes one"):
        Stack(weights=NormProp(), activations=WeightNorm())


def test_stack_makes_no_random_number():
    state = torch.get_rng_state()
    Stack(weights=SCHEMES["spectral"], activations=SCHEMES["batch"])
    assert torch.equal(torch.get_rng_state(), state)


def test_stack_keeps_unit_length_weights_and_the_projection_of_normprop():
    stack = Stack(weights=NormProp(), activations=SCHEMES["batch"])
    model = nn.Sequential(stack.block(nn.Linear(5, 4), nn.ReLU()))
    (layer,) = weight_layers(model)
    with torch.no_grad():
        layer.parametrizations.weight.original.mul_(3)
    stack.step_hook(model)()
    assert parametrize.is_parametrized(layer)
    torch.testing.assert_close(layer.parametrizations.weight.original.norm(dim=1), torch.ones(4))
