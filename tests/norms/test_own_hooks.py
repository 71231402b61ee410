"""Layers that a scheme of the user's own brings: they shift nothing of the network, and keep their own start."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from normexp.config import compose
from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.training.build import build_model, build_norm


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.words = nn.Linear(width, width), nn.Embedding(3, width)
        nn.init.constant_(self.gate.bias, 3.0)

    def forward(self, x):
        gains = torch.sigmoid(self.gate(x.flatten(2).mean(2) if x.dim() > 2 else x)) + self.words.weight.mean()
        return x * gains.view(*gains.shape, *[1] * (x.dim() - 2))


@dataclass(frozen=True, kw_only=True)
class Gated(Norm):
    def normalization(self, num_features):
        return Gate(num_features)


class Mixed(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.mix = nn.Linear(layer.weight[0].numel(), layer.weight[0].numel(), bias=False)

    def forward(self, weight):
        return weight + self.mix(weight.flatten(1)).view_as(weight)

    def right_inverse(self, weight):
        return weight


@dataclass(frozen=True, kw_only=True)
class Mixing(Norm):
    def parametrize(self, layer):
        return parametrize.register_parametrization(layer, "weight", Mixed(layer))


class Net(nn.Module):
    """Draws a parameter of its own behind a place of the scheme."""

    def __init__(self, norm):
        super().__init__()
        self.hidden = nn.Sequential(norm.block(nn.Linear(64, 8), nn.ReLU()), norm.block(nn.Linear(8, 8), nn.ReLU()))
        self.token = nn.Parameter(torch.randn(8))
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.hidden(x.flatten(1)) + self.token)


NETWORKS = {
    "mlp": (["model=mlp", "model.widths=[6,6]"], (1, 8, 8)),
    "cnn": (["model=cnn"], (1, 8, 8)),
    "own": (["model=test_own_hooks.Net"], (1, 8, 8)),
    "gpt": (["dataset=text", "model=gpt", "model.layers=2", "model.heads=2", "model.width=8"], (16,)),
    "rnn": (["model=lstm_classifier", "dataset=adding"], (20, 2)),
}


def built(network, norm, seed=0):
    words, shape = NETWORKS[network]
    config = compose([*words, f"norm={norm}", f"seed={seed}", "init=he", "plugins=[test_own_hooks]"])
    return build_model(config, build_norm(config), shape, 10)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("scheme", ["Gated", "Mixing"])
def test_a_network_starts_from_the_same_weights_under_a_scheme_with_layers(network, scheme):
    plain, own = (dict(built(network, norm).named_parameters()) for norm in ("none", f"test_own_hooks.{scheme}"))
    plain = {value.detach().numpy().tobytes() for value in plain.values() if value.dim() > 1 or len(value) == 8}
    assert plain <= {value.detach().numpy().tobytes() for value in own.values()}


@pytest.mark.parametrize("network", NETWORKS)
def test_layers_of_a_scheme_keep_their_own_start(network):
    gates = [module for module in built(network, "test_own_hooks.Gated").modules() if isinstance(module, Gate)]
    assert gates
    for gate in gates:
        assert torch.all(gate.gate.bias == 3)
        assert gate.gate.weight.abs().max() <= gate.gate.in_features**-0.5  # torch's own start
        assert gate.words.weight.std() > 0.4


def test_what_a_scheme_draws_is_by_seed_and_place():
    def drawn(seed):
        return [
            module.gate.weight
            for module in built("own", "test_own_hooks.Gated", seed).modules()
            if type(module) is Gate
        ]

    first, again, other = drawn(0), drawn(0), drawn(1)
    assert all(map(torch.equal, first, again))
    assert not any(map(torch.equal, first, other))
    assert not torch.equal(*first)


@dataclass(frozen=True, kw_only=True)
class Unseen(Norm):
    def recurrent(self, num_features, max_steps, site="sum"):
        return nn.LayerNorm(num_features)


def test_a_module_that_a_recurrent_network_would_leave_out_is_refused():
    """Torch's kernel takes the place of steps that do nothing, and of what is none it was not seen that it does."""
    with pytest.raises(UserError, match=r"Unseen\.recurrent returned a LayerNorm, not a Step; return TimeStep"):
        built("rnn", "test_own_hooks.Unseen")
