"""Layers that are called in ways of their own: without the mode, twice, by name, from a list, unregistered."""

import contextlib
import copy
import re

import pytest
import torch
from networks_to_diagnose import kinds, small
from one_line import one_line_error
from torch import nn

from normexp.diagnosis import repair
from normexp.diagnosis.batches import first_tensor
from normexp.diagnosis.diagnose import diagnose
from normexp.errors import UserError


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch.jit
def test_a_part_that_torch_compiled_is_one_line():
    part = torch.jit.script(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    with pytest.raises(UserError, match=r"^model: 0 is compiled by torch\.jit"):
        diagnose(nn.Sequential(part, nn.ReLU()), torch.randn(4, 3, 8, 8))


class Functional(nn.Module):
    """Calls what takes the mode as an argument, with or without it."""

    def __init__(self, told: bool) -> None:
        super().__init__()
        self.layer, self.norm, self.told = nn.Linear(6, 32), nn.BatchNorm1d(32, affine=False), told

    def forward(self, x):
        return self.act(self.layer(x), self.training if self.told else True)


class Dropout(Functional):
    def act(self, x, training):
        return nn.functional.dropout(x, 0.2, training)


class OfBatch(Functional):
    def act(self, x, training):
        return nn.functional.batch_norm(x, self.norm.running_mean, self.norm.running_var, training=training)


@pytest.mark.parametrize(("network", "kind"), [(Dropout, "random"), (OfBatch, "batch in evaluation")])
def test_what_is_called_without_the_mode_is_found_in_the_predictions(network, kind):
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    forgotten, told = (network(told) for told in (False, True))
    assert (kind, "") in kinds(forgotten, x)
    assert kind not in {each.kind for each in diagnose(told, x).findings}


def test_a_layer_that_mixes_its_batch_is_named_once():
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, track_running_stats=False))
    assert kinds(model, torch.randn(64, 6)) == {("batch in evaluation", "1")}


class Twice(nn.Module):
    """One batch normalization for two inputs."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.norm, self.factor = nn.BatchNorm2d(3), factor

    def forward(self, x):
        return self.norm(x) + self.norm(self.factor * x)


@pytest.mark.parametrize(("factor", "faults"), [(1.0, set()), (5.0, {("shared", "norm")})])
def test_a_normalization_that_is_called_for_different_inputs_is_a_fault_whatever_its_estimates(factor, faults):
    torch.manual_seed(0)
    model, x = Twice(factor), torch.randn(64, 3, 8, 8)
    assert kinds(repair.recalibrate(model, x), x) == faults


def test_first_values_that_remain_beside_small_variances_are_told_from_other_data():
    """After 60 batches 0.2 % of the first variance, 1, is twice that of maps averaged over their positions."""
    torch.manual_seed(0)
    model, x = nn.BatchNorm1d(8), 0.03 * torch.randn(512, 8)
    for _ in range(60):
        model(x)
    (fault,) = diagnose(nn.Sequential(model), x).faults
    assert fault.kind == "undersampled"
    assert "0.2% of them are the first values" in fault.text


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        return self.norm(input=x)


def test_a_normalization_that_is_called_with_a_named_input_is_seen():
    assert kinds(ByName(), 5 + torch.randn(64, 3, 8, 8)) == {("never updated", "norm")}


@pytest.mark.slow
def test_a_compiled_network_names_the_one_inside_it():
    with pytest.raises(UserError, match=r"compiled by torch\.compile; give the network inside it, model\._orig_mod"):
        diagnose(torch.compile(small()), torch.randn(32, 3, 8, 8))


class Hiding(nn.Module):
    """Calls layers that it keeps in a list, a dict of lists and nowhere."""

    def __init__(self, made: nn.Module) -> None:
        super().__init__()
        self.first, self.hidden, self.branches = nn.Conv2d(3, 8, 3), [nn.BatchNorm2d(8)], {"a": [nn.ReLU(), made]}
        self.unused, self.last = [nn.LayerNorm(8)], nn.Linear(8, 2)
        scale = nn.PReLU()
        self.scale = lambda x: 2 * scale(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.Softplus()(self.hidden[0](self.first(x)))
        for layer in self.branches["a"]:
            y = layer(y)
        return self.last(self.scale(y).mean((2, 3)))


def test_layers_that_are_called_and_not_registered_are_named():
    """What train(), parameters() and state_dict() leave out a diagnosis had left out without a word."""
    diagnosis = diagnose(Hiding(nn.Conv2d(8, 8, 3)), torch.randn(32, 3, 8, 8))
    found = {each.layer: each.text for each in diagnosis.faults if each.kind == "not registered"}
    assert found.keys() == {"hidden", "branches", "scale"}
    assert found["hidden"].startswith("is called, but is no module of the network: ")
    with one_line_error("hidden: BatchNorm2d is called, but is no module of the network"):
        repair.recalibrate(nn.Sequential(Hiding(nn.Identity()), nn.BatchNorm1d(2)), torch.randn(32, 3, 8, 8))


class InAList(nn.Module):
    """A normalization that no train() or eval() of the network reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.hidden, self.last = nn.Linear(5, 4), [nn.BatchNorm1d(4)], nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.hidden[0](self.first(x)))


@pytest.mark.parametrize("passes", [diagnose, repair.recalibrate], ids=["diagnose", "refused"])
def test_a_layer_in_a_list_keeps_its_running_statistics(passes):
    """It is in train() in every pass, of which each had moved them."""
    inner = InAList()
    model = inner if passes is diagnose else nn.Sequential(inner, nn.BatchNorm1d(2))
    before = copy.deepcopy(inner.hidden[0].state_dict())
    with contextlib.suppress(UserError):
        passes(model, torch.randn(32, 5) + 3)
    assert inner.hidden[0].training
    assert all(torch.equal(value, before[name]) for name, value in inner.hidden[0].state_dict().items())


def test_a_normalization_in_a_list_is_one():
    """The note that there was none stood below the fault that named it."""
    found = {each.kind for each in diagnose(InAList(), torch.randn(32, 5)).findings}
    assert "not registered" in found
    assert "no normalization" not in found


class PutsNewOnes(nn.Module):
    """Batch normalization by hand, whose buffers are other tensors after each update."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(4))
        self.register_buffer("running_var", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return (x - self.running_mean) / self.running_var.sqrt()
        self.running_mean = 0.9 * self.running_mean + 0.1 * x.detach().mean(0)
        self.running_var = 0.9 * self.running_var + 0.1 * x.detach().var(0)
        return (x - x.mean(0)) / x.std(0)


def test_running_statistics_that_are_put_in_place_of_the_old_ones_come_back():
    """Values had been written into the old tensors, which belonged to the network no more."""
    model = nn.Sequential(nn.Linear(5, 4), PutsNewOnes(), nn.Linear(4, 2))
    before, buffer = copy.deepcopy(model.state_dict()), model[1].running_mean
    diagnose(model, torch.randn(32, 5) + 3)
    assert model[1].running_mean is buffer
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


class UnderOtherNames(nn.Module):
    """Batch normalization of somebody's own, whose buffers are called otherwise than torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("var", torch.ones(4))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.mean.lerp_(x.detach().mean(0), 0.1)
            self.var.lerp_(x.detach().var(0), 0.1)
            self.calls += 1
            return (x - x.mean(0)) / x.std(0)
        return (x - self.mean) / self.var.sqrt()


def test_running_statistics_under_other_names_are_no_noise_and_no_lack_of_normalization():
    model = nn.Sequential(nn.Linear(5, 4), UnderOtherNames(), nn.Linear(4, 2))
    before = copy.deepcopy(model.state_dict())
    (note,) = diagnose(model, torch.randn(32, 5) + 3).findings
    assert (note.kind, note.layer, note.level) == ("other statistics", "1", "note")
    assert note.text.startswith("UnderOtherNames keeps mean, var in train(); ")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    with pytest.raises(UserError, match=r"no running statistics of batch normalization \(running_mean, running_var\)"):
        repair.recalibrate(model, torch.randn(32, 5))


def test_a_network_without_a_known_normalization_says_so():
    (note,) = diagnose(nn.Sequential(nn.Linear(3, 2)), torch.randn(8, 3)).findings
    assert (note.kind, note.level) == ("no normalization", "note")


def test_a_layer_with_one_value_per_channel_is_named_where_torch_stops():
    """torch's own message names neither the layer nor a way out."""
    pooled = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.InstanceNorm2d(4), nn.Flatten())
    told = "2: InstanceNorm2d has one value per channel at an input of (8, 4, 1, 1), its own mean; take it out there"
    with pytest.raises(UserError, match=re.escape(told)):
        diagnose(pooled, torch.randn(8, 3, 6, 6))
    pooled[2] = nn.BatchNorm2d(4)
    stopped = diagnose(pooled, torch.randn(1, 3, 6, 6)).findings[0]
    assert "2: BatchNorm2d has one value per channel" in stopped.text
    assert "a larger batch" in stopped.text
    assert "norm: BatchNorm2d has one value" in diagnose(ByName(), torch.randn(1, 3, 1, 1)).findings[0].text


@pytest.mark.parametrize("output", [lambda x: (None, x), lambda x: {"loss": None, "more": [x]}])
def test_the_first_tensor_counts_wherever_it_is_in_what_a_network_returns(output):
    assert torch.equal(first_tensor(output(torch.ones(2))), torch.ones(2))
    with pytest.raises(UserError, match="the network returns a tuple"):
        first_tensor((None, "text"))
