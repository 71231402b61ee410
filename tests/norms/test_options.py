"""Options that several schemes share do what they say."""

import copy

import numpy as np
import pytest
import torch
from every_scheme import CHANNELS, CONFIGS, TESTED_WITH, instantiate

from normexp.config.allowed import parse
from normexp.config.instantiate import locate
from normexp.config.options import without_descriptions
from normexp.errors import UserError
from normexp.norms import GroupNorm, OnlineNorm, Stack

AFFINE = [name for name, config in CONFIGS.items() if "affine" in config]


@pytest.mark.parametrize("name", AFFINE)
def test_affine_learns_a_weight_from_1_and_a_bias_from_0_or_nothing(name):
    learned = dict(instantiate(CONFIGS[name], affine=True).normalization(CHANNELS).named_parameters())
    without = dict(instantiate(CONFIGS[name], affine=False).normalization(CHANNELS).named_parameters())
    assert learned.keys() - without.keys() in ({"weight", "bias"}, {"weight"}, {"bias"})
    for key, start in (("weight", 1.0), ("bias", 0.0)):
        assert key not in without
        if key in learned:
            torch.testing.assert_close(learned[key].detach(), torch.full((CHANNELS,), start))


@pytest.mark.parametrize("name", [name for name in AFFINE if name != "online"])  # which scales the whole afterwards
def test_affine_scales_and_shifts_what_it_is_without(name):
    """Where affine is off by default, nothing else computes with a weight and a bias."""
    torch.manual_seed(0)
    plain = instantiate(CONFIGS[name], **{**TESTED_WITH.get(name, {}), "affine": True}).normalization(CHANNELS)
    scaled, x = copy.deepcopy(plain), torch.randn(32, CHANNELS, 3, 3)
    weight, bias = torch.ones(CHANNELS, 1, 1), torch.zeros(CHANNELS, 1, 1)
    for key, value in (("weight", weight.normal_()), ("bias", bias.normal_())):
        if key in dict(scaled.named_parameters()):
            getattr(scaled, key).data.copy_(value.flatten())
        else:
            value.fill_(float(key == "weight"))
    torch.testing.assert_close(scaled(x), plain(x) * weight + bias, rtol=1e-4, atol=1e-5)


GROUPED = [name for name, config in CONFIGS.items() if "num_groups" in config]


@pytest.mark.parametrize("name", GROUPED)
def test_as_many_groups_as_channels_are_refused_where_a_group_is_one_value(name):
    module = instantiate(CONFIGS[name], num_groups=CHANNELS).normalization(CHANNELS)
    assert module(torch.randn(2, CHANNELS, 2)).isfinite().all()
    for shape in ((2, CHANNELS), (2, CHANNELS, 1, 1)):
        with pytest.raises(ValueError, match="more than one value per group"):
            module(torch.randn(shape))


REFUSED = {"eps": (0.0, -1.0, "small"), "momentum": (0.0, 1.5, "large")}


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, config in CONFIGS.items() for key in REFUSED if key in config]
)
def test_impossible_values_are_refused(name, key):
    for value in REFUSED[key]:
        with pytest.raises(ValueError, match=rf"^{key} must be [^\n]*{value}"):
            locate(CONFIGS[name]["_target_"])(**{key: value})


@pytest.mark.parametrize("name", [name for name, config in CONFIGS.items() if "momentum" in config])
def test_momentum_is_the_weight_of_the_new_batch(name):
    """The values 0, 2, 4 from PyTorch's start: mean 0.9 * 0 + 0.1 * 2, variance 0.9 * 1 + 0.1 * 4 (unbiased)."""
    norm = instantiate(CONFIGS[name], **TESTED_WITH.get(name, {}))
    module = norm.normalization(CHANNELS)
    module(torch.tensor([0.0, 2.0, 4.0]).view(1, 1, 3).repeat(1, CHANNELS, 1))
    state, momentum = dict(module.named_buffers()), norm.momentum
    if "running_mean" in state:
        torch.testing.assert_close(state["running_mean"], torch.full((CHANNELS,), momentum * 2))
    if "running_var" in state and CONFIGS[name].get("_gradient_") != "approximate":
        torch.testing.assert_close(state["running_var"], torch.full((CHANNELS,), 1 - momentum + momentum * 4))


VALUES = (2.5, 0.5, 0.0, -1.0, 0, 1, 3, True, False, None, "x", "pre", float("inf"), float("nan"), [1], 2**2000)
EVERY = [
    (name, key)
    for name, config in CONFIGS.items()
    for key, default in without_descriptions(config).items()
    if isinstance(default, bool | int | float) or key in config.get("_allowed_", {})
]


@pytest.mark.parametrize(("name", "key"), EVERY)
def test_python_takes_a_value_where_the_command_line_does(name, key):
    """Numbers beyond float32 apart: those of a float64 network are its own affair."""
    rule = parse(CONFIGS[name].get("_allowed_", {}).get(key), CONFIGS[name][key])
    scheme = locate(CONFIGS[name]["_target_"])
    for value in VALUES:
        try:
            scheme(**{key: value})
            taken = True
        except ValueError as error:
            taken = not str(error).startswith(f"{key} must be ")  # else by a rule over several options
        try:
            rule.check(key, value)
            assert taken, value
        except UserError:
            assert not taken or value == 2**2000, value


def test_a_whole_number_where_a_float_is_due_is_one():
    """Online normalization failed in its first step with a momentum of 1, the only whole number that it takes."""
    scheme = OnlineNorm(momentum=1, eps=2**70)
    assert (scheme, type(scheme.momentum), type(scheme.eps)) == (OnlineNorm(momentum=1.0, eps=2.0**70), float, float)
    scheme.normalization(3)(torch.randn(4, 3, requires_grad=True)).sum().backward()
    with pytest.raises(ValueError, match=r"^eps must be a finite number, above 0, not 1"):
        OnlineNorm(eps=2**2000)


def test_what_python_writes_in_several_lines_is_refused_in_one():
    for key in ("num_groups", "eps", "affine"):
        with pytest.raises(ValueError, match=r"^[^\n]* not array\(\[[^\n]*$"):
            GroupNorm(**{key: np.zeros((2, 2))})


@pytest.mark.parametrize("part", [None, "weight", 1, GroupNorm, np.zeros((2, 2))], ids=str)
def test_a_part_of_a_stack_is_a_scheme(part):
    with pytest.raises(ValueError, match=r"^activations must be a scheme, for example [^\n]*$"):
        Stack(activations=part)


def test_numbers_of_numpy_are_numbers():
    scheme = GroupNorm(num_groups=np.int64(4), eps=np.float32(0.5))
    assert (type(scheme.num_groups), scheme.num_groups, type(scheme.eps), scheme.eps) == (int, 4, float, 0.5)
    with pytest.raises(ValueError, match=r"^num_groups must be an integer, at least 1, not 2\.5$"):
        GroupNorm(num_groups=2.5)
    with pytest.raises(ValueError, match=r"^affine must be True or False, not 'false'$"):
        GroupNorm(affine="false")
