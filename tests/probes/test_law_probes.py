"""The probes of the laws: what they measure, that they change nothing, and whom they refuse."""

import copy
import csv
import importlib
import math
import re

import pytest
import torch
from situations import facing
from torch import Tensor, nn

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.errors import UserError
from normexp.probes.effective_rate import EffectiveRate
from normexp.probes.equilibrium import Equilibrium, angle, equilibrium_angle
from normexp.probes.gram_distance import GramDistance
from normexp.probes.residual_variance import StreamVariance
from normexp.probes.scale_free import TOLERANCE, Noticed, Usual, noticed
from normexp.records import RunDirectory
from normexp.runs import trainer

SHORT = ("dataset=text", "dataset.validation=100", "dataset.test=100", "dataset.context=16")


@pytest.fixture
def normalized() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(3, 6, bias=False), nn.BatchNorm1d(6, eps=1e-12), nn.ReLU(), nn.Linear(6, 2, bias=False)
    )


def test_angle_is_that_between_the_vectors():
    one = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    assert angle(one, torch.tensor([[0.0, 0.0], [3.0, 0.0]])) == pytest.approx(math.pi / 2)
    assert angle(one, 5 * one) == 0
    tiny = torch.tensor([[1.0, 1e-7], [0.0, 0.0]])
    assert angle(one, tiny) == pytest.approx(1e-7, rel=1e-5)


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.02), math.sqrt(0.004)),
        (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.02), math.sqrt(0.004 / 1.9)),
        (lambda p: torch.optim.AdamW(p, 0.01, betas=(0.8, 0.99), weight_decay=0.2), math.sqrt(0.004 * 0.2 / 1.8)),
    ],
)
def test_equilibrium_angle_of_an_optimizer(optimizer, expected):
    made = optimizer([nn.Parameter(torch.ones(2))])
    assert equilibrium_angle(made.param_groups[0]) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [torch.optim.RMSprop, torch.optim.Adam])
def test_no_equilibrium_is_told_of_an_optimizer_whose_is_not_known(kind):
    with pytest.raises(UserError, match="known for optim=sgd"):
        equilibrium_angle(kind([nn.Parameter(torch.ones(2))], 0.1, weight_decay=0.02).param_groups[0])


def test_a_weight_that_hardly_acts_has_no_equilibrium(normalized):
    """Doubling it changes nothing, as of one that a norm follows; nor does any other weight in its place."""
    weak = nn.Sequential(normalized, Weak(nn.Linear(2, 2)))
    optimizer = torch.optim.SGD(weak.parameters(), 0.1, weight_decay=0.02)
    angles = {
        name
        for name, what, _ in Equilibrium().measure(facing(weak, torch.randn(32, 3), optimizer=optimizer))
        if what == "angle"
    }
    assert angles == {"0.0.weight"}
    rates = EffectiveRate().measure(facing(weak, torch.randn(32, 3)))
    assert {name for name, what, _ in rates if what == "effective_rate"} == {"0.0.weight"}
    alone = Weak(nn.Linear(3, 3))
    with pytest.raises(UserError, match=r"outputs hardly depend on branch\.weight at all"):
        Equilibrium().measure(
            facing(alone, torch.randn(32, 3), optimizer=torch.optim.SGD(alone.parameters(), 0.1, weight_decay=0.02))
        )


class Weak(nn.Module):
    def __init__(self, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch

    def forward(self, x: Tensor) -> Tensor:
        return x + 1e-6 * self.branch(x)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_angle_is_that_of_the_update_that_the_optimizer_then_makes(normalized, momentum):
    x = torch.randn(32, 3)
    optimizer = torch.optim.SGD(normalized.parameters(), 0.1, momentum=momentum, weight_decay=0.02)
    situation = facing(normalized, x, optimizer=optimizer)

    def step() -> None:
        optimizer.zero_grad()
        situation.loss(normalized(x), torch.zeros(len(x))).backward()
        optimizer.step()

    step()  # so that there is a momentum
    weights, state = copy.deepcopy(normalized.state_dict()), copy.deepcopy(optimizer.state_dict()["state"])
    readings = {(layer, name): value for layer, name, value in Equilibrium(count=32).measure(situation)}
    for name, value in normalized.state_dict().items():
        assert torch.equal(value, weights[name])
    assert str(optimizer.state_dict()["state"]) == str(state)
    before = normalized[0].weight.detach().clone()
    step()
    assert readings["0.weight", "angle"] == pytest.approx(angle(before, normalized[0].weight), rel=1e-4)
    assert readings["0.weight", "ratio"] > 0
    assert readings["3.weight", "scale_change"] > 0.1
    assert ("3.weight", "angle") not in readings  # the last layer has no equilibrium


def test_equilibrium_names_the_layer_that_is_the_reason():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    for decay in (0.02, 0.0):  # which reason matters first: weight decay alone would not help
        optimizer = torch.optim.SGD(model.parameters(), 0.1, weight_decay=decay)
        with pytest.raises(UserError, match=r"depend on the length of 0\.weight, which no norm follows"):
            Equilibrium().measure(facing(model, torch.randn(16, 3), optimizer=optimizer))
    with pytest.raises(UserError, match="there is none"):
        Equilibrium().measure(facing(model, torch.randn(16, 3)))


@pytest.mark.parametrize(
    "network", [("model=mlp", "norm=none"), pytest.param((*SHORT, "model=gpt", "norm=rms"), marks=pytest.mark.slow)]
)
def test_the_scheme_that_equilibrium_proposes_has_one_in_every_network(network, tmp_path):
    def probe(norm: str) -> str:
        words = [*network[:-1], norm, "optim=adamw", "probe=equilibrium", "steps=1", "dataset.subset=64", "device=cpu"]
        config = compose([*words, "threads=1"])
        data = instantiate(config["dataset"]).load(config["seed"])
        trainer.train(config, data, RunDirectory(tmp_path / norm), force=False)
        return (tmp_path / norm / "probes.csv").read_text()

    with pytest.raises(UserError, match="no weight is scale-invariant") as error:
        probe(network[-1])
    (proposed,) = re.findall(r"norm=\w+", str(error.value))
    assert ",ratio," in probe(proposed)


def test_gram_distance_is_of_every_layers_input(normalized):
    x = torch.eye(3).repeat(1, 1)
    readings = {layer: value for layer, _, value in GramDistance(count=3).measure(facing(normalized, x))}
    assert readings["0"] == pytest.approx(0, abs=1e-7)
    assert 0 < readings["3"] < math.sqrt(2 / 3)
    same = torch.ones(4, 3)
    assert GramDistance(count=4).measure(facing(normalized, same))[0][2] == pytest.approx(math.sqrt(0.75))


def test_stream_variance_is_of_blocks_that_keep_their_shape():
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.layer = nn.BatchNorm1d(400, eps=1e-12), nn.Linear(400, 400, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            return x + self.layer(torch.relu(self.norm(x)))

    torch.manual_seed(1)
    blocks = nn.Sequential(*(Block() for _ in range(4)))
    for block in blocks:
        nn.init.kaiming_normal_(block.layer.weight)
    x = torch.randn(64, 400)
    found = StreamVariance(count=64).measure(facing(nn.Sequential(blocks, nn.Linear(400, 2)), x))
    squares = [value for _, name, value in found if name == "mean_square"]
    assert squares == pytest.approx([2, 3, 4, 5], rel=0.1)
    variances = [value for _, name, value in found if name == "variance"]
    assert variances[-1] == pytest.approx(1 + 4 * (1 - 1 / math.pi), rel=0.1)
    with pytest.raises(UserError, match="no block of the network"):
        StreamVariance().measure(facing(nn.Sequential(nn.Linear(3, 2)), torch.randn(8, 3)))


class Tokens(nn.Module):
    """(N, T, C) -> (N, T, C) with channels of means 0, 1, ..., which are no variance of any channel."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.arange(8.0)


def test_stream_variance_of_tokens_is_that_of_their_last_dimension():
    torch.manual_seed(0)
    model = nn.Sequential(Tokens(), nn.Flatten(1), nn.Linear(40, 2))
    found = StreamVariance(count=512).measure(facing(model, torch.randn(512, 5, 8)))
    assert {name: value for _, name, value in found}["variance"] == pytest.approx(1, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "probe", ["equilibrium", "update_angle", "gradient_norm", "gram_distance", "residual_variance"]
)
def test_a_probe_of_the_laws_takes_a_network_of_torchvision(probe, tmp_path):
    network = ["model=torchvision", "model.name=resnet18", "norm=batch", f"probe={probe}", "steps=1", "batch_size=8"]
    config = compose([*network, "dataset.subset=64", "optim.weight_decay=0.0005", "device=cpu", "threads=1"])
    data = instantiate(config["dataset"]).load(config["seed"])
    trainer.train(config, data, RunDirectory(tmp_path), force=False)
    rows = list(csv.DictReader((tmp_path / "probes.csv").read_text().splitlines()))
    assert len({row["layer"] for row in rows}) >= 5  # of blocks that keep their shape, the fewest
    assert all(math.isfinite(float(row["value"])) for row in rows)


@pytest.mark.parametrize(
    ("seen", "counts_as"),
    [
        ((0.5,), (False, False, False)),
        ((math.nan,), (False, False, False)),
        ((0.001, 0.3, 0.03), (True, False, False)),
        ((0.001, 0.3, 1.0), (False, True, False)),
        ((0.001, 0.3, math.nan), (False, True, False)),
        ((0.001, 0.002), (False, False, True)),
        ((0.001, math.nan), (False, False, True)),
    ],
)
def test_a_weight_is_scale_invariant_where_outputs_and_gradient_notice_its_direction_alone(seen, counts_as):
    found = Noticed(*seen)
    assert (found.is_scale_invariant, found.is_saturated, found.has_no_effect) == counts_as


def test_a_saturated_nonlinearity_does_not_make_a_weight_scale_invariant():
    """Twice the weight changes the outputs by less than a hundredth, and its gradient does not halve but vanish."""
    torch.manual_seed(0)
    first, last, x = nn.Linear(20, 64, bias=False), nn.Linear(64, 5), torch.randn(64, 20)
    first.weight.detach().mul_(1000)
    seen = {}
    for name, between in (("saturated", nn.Hardtanh()), ("normalized", nn.BatchNorm1d(64))):
        model = nn.Sequential(first, between, last)
        seen[name] = noticed(Usual(model, x, ["0.weight"]), "0.weight")
    assert max(each.scale for each in seen.values()) < TOLERANCE < min(each.direction for each in seen.values())
    assert (seen["saturated"].is_scale_invariant, seen["normalized"].is_scale_invariant) == (False, True)


class Constant(nn.Linear):
    def forward(self, x):
        return super().forward(x).detach()


def test_a_weight_without_a_gradient_is_not_scale_invariant():
    model, x = nn.Sequential(Constant(4, 4), nn.BatchNorm1d(4, affine=False)), torch.randn(32, 4)
    seen = noticed(Usual(model, x, ["0.weight"]), "0.weight")
    assert (seen.is_scale_invariant, seen.is_saturated) == (False, True)


@pytest.mark.parametrize("part", ["probes.effective_rate", "probes.equilibrium", "diagnosis.weights"])
def test_the_rule_which_weights_are_scale_invariant_stands_in_one_place(part):
    module = importlib.import_module(f"normexp.{part}")
    assert module.noticed is noticed
    assert not {"direction_change", "gradient_change", "output_change"} & set(vars(module))
