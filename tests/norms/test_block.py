"""`Norm.block`: the order of the pieces, the layer's bias, and `Stack`."""

from dataclasses import replace

import pytest
import torch
from drawn_weights import drawn_weight
from every_scheme import CHANNELS, CONFIGS, instantiate
from torch import nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm, set_weight, weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.evonorm_b0 import EvoNormB0
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.group import GroupNorm
from normexp.norms.kernels.batched import AnyRankBatchNorm
from normexp.norms.mean_only import MeanOnly, MeanOnlyBatchNorm
from normexp.norms.stack import Stack
from normexp.norms.weight import WeightNorm


def kinds(block):
    return [type(step).__name__.removeprefix("Parametrized") for step in block]


def function(norm):
    fn = norm.nonlinearity(nn.ReLU())
    return [] if isinstance(fn, nn.Identity) else [type(fn).__name__]


def test_pre_puts_normalization_before_the_nonlinearity(norm):
    activation = norm.normalization(CHANNELS)
    middle = [] if isinstance(activation, nn.Identity) else [type(activation).__name__]
    block = norm.block(nn.Conv2d(3, CHANNELS, 3), nn.ReLU())
    assert kinds(block) == ["Conv2d", *middle, *function(norm)]
    assert (block[0].bias is None) == norm.cancels_bias


def test_post_puts_normalization_after_the_nonlinearity(norm):
    if function(norm) == []:
        with pytest.raises(ValueError, match=r"must be 'pre', not 'post': .* replaces the nonlinearity"):
            replace(norm, placement="post")
        return
    norm = replace(norm, placement="post")
    activation = norm.normalization(CHANNELS)
    last = [] if isinstance(activation, nn.Identity) else [type(activation).__name__]
    block = norm.block(nn.Conv2d(3, CHANNELS, 3), nn.ReLU())
    assert kinds(block) == ["Conv2d", *function(norm), *last]
    assert block[0].bias is not None


def test_block_without_nonlinearity_is_linear(norm):
    last = (
        [] if isinstance(norm.normalization(CHANNELS), nn.Identity) else [type(norm.normalization(CHANNELS)).__name__]
    )
    if isinstance(norm, EvoNormS0 | EvoNormB0):
        last = []  # a nonlinearity whatever its parameters: an output layer goes without
    for placement in ("pre", "post") if function(norm) else ("pre",):
        norm = replace(norm, placement=placement)
        block = norm.block(nn.Linear(5, CHANNELS))
        assert kinds(block) == ["Linear", *last]
        assert (block[0].bias is None) == norm.cancels_bias


def test_no_scheme_draws_from_the_stream_that_a_network_is_drawn_from(norm):
    """What somebody's own network draws after a block, an embedding or a parameter, is the same in every scheme."""
    layers = [nn.Linear(5, CHANNELS), nn.Conv2d(3, CHANNELS, 3), nn.Linear(5, CHANNELS), nn.AvgPool2d(2)]
    before = torch.get_rng_state()
    for layer in layers[:2]:
        norm.block(layer, nn.ReLU())
    norm.parametrize_recurrent(layers[2])
    norm.pool(layers[3])
    norm.sequence(CHANNELS)
    norm.recurrent(CHANNELS, 3)
    assert torch.equal(torch.get_rng_state(), before)


def test_same_initial_weights_under_every_scheme(norm):
    block = norm.block(nn.Linear(5, CHANNELS), nn.ReLU())
    value = torch.randn(CHANNELS, 5, generator=torch.Generator().manual_seed(3))
    (layer,) = weight_layers(block)
    set_weight(layer, value)
    torch.testing.assert_close(drawn_weight(layer), value)


def test_block_of_a_one_dimensional_convolution_and_a_transposed_one(norm):
    assert norm.block(nn.Conv1d(3, CHANNELS, 3))(torch.randn(4, 3, 8)).shape == (4, CHANNELS, 6)
    block = norm.block(nn.ConvTranspose2d(3, CHANNELS, 3))
    assert block(torch.randn(4, 3, 6, 6)).shape == (4, CHANNELS, 8, 8)


def test_stack_applies_both():
    block = instantiate(CONFIGS["weight_mean_only"]).block(nn.Linear(5, 4), nn.ReLU())
    assert parametrize.is_parametrized(block[0], "weight")
    assert isinstance(block[1], MeanOnly)


@pytest.mark.parametrize(
    ("weights", "activations", "cancels"),
    [
        (WeightNorm(), BatchNorm(), True),
        (WeightNorm(), GroupNorm(num_groups=2), False),
        (BatchNorm(), GroupNorm(), True),
        (GroupNorm(num_groups=2), BatchNorm(), False),
        (Norm(), Norm(), False),
    ],
)
def test_stack_cancels_what_its_parts_cancel(weights, activations, cancels):
    stack = Stack(weights=weights, activations=activations)
    assert stack.cancels_bias is cancels
    x, bias = torch.randn(20, 4, 3, 3), torch.tensor([0.0, 5, 0, 0]).view(1, 4, 1, 1)
    module = stack.normalization(4)
    assert torch.allclose(module(x), module(x + bias), atol=1e-4) is cancels


def test_stack_of_two_activations_runs_them_in_order():
    module = Stack(weights=GroupNorm(), activations=BatchNorm()).normalization(4)
    assert kinds(module) == ["GroupedNorm", "AnyRankBatchNorm"]
    assert isinstance(module[1], AnyRankBatchNorm)


def test_stack_adds_penalties():
    class Penalty(Norm):
        def penalty(self, model):
            return torch.tensor(2.0)

    model = nn.Linear(2, 2)
    assert Stack().penalty(model) is None
    assert Stack(activations=Penalty()).penalty(model) == 2
    assert Stack(weights=Penalty(), activations=Penalty()).penalty(model) == 4


def test_stack_asks_both_parts_for_pooling_and_what_follows_a_step():
    done: list[str] = []

    class Scheme(Norm):
        def pool(self, module):
            return nn.Sequential(module, nn.Identity())

        def step_hook(self, model):
            return lambda: done.append("step")

    pool = Stack(weights=Scheme(), activations=Scheme()).pool(nn.MaxPool2d(2))
    assert isinstance(pool[0][0], nn.MaxPool2d)
    Stack(weights=Scheme(), activations=Scheme()).step_hook(nn.Linear(2, 2))()
    assert done == ["step", "step"]
    Stack(activations=Scheme()).step_hook(nn.Linear(2, 2))()
    assert len(done) == 3
    assert Stack().step_hook(nn.Linear(2, 2)) is None


def test_stack_refuses_a_placement_in_a_part():
    with pytest.raises(ValueError, match="placement of the stack, not of its activations"):
        Stack(weights=WeightNorm(), activations=MeanOnlyBatchNorm(placement="post"))
