"""Every planted fault is named with its layer; a healthy network has none."""

import copy

import planted_faults
import pytest
import torch
from networks_to_diagnose import SMALL, kinds, small
from planted_faults import FAULTS, NAMES, found, healthy, verdict
from torch import nn

from normexp.diagnosis import repair
from normexp.diagnosis.diagnose import diagnose
from normexp.diagnosis.normalizations import normalizations

pytestmark = pytest.mark.slow  # the other files of this folder have the quick ones

QUICK = (  # seconds each; the others of docs/diagnose.md take minutes
    "torchvision resnet18",
    "torchvision shufflenet_v2_x0_5",
    "torchvision mobilenet_v2",
    "timm test_efficientnet",
    "timm test_byobnet",
    "timm regnetx_002",
)


def test_a_healthy_network_has_no_fault(network):
    model, inputs = network
    assert found(model, inputs) == set()
    assert str(diagnose(model, inputs)).startswith("no fault found\n")


def seldom(examples: int) -> torch.Tensor:
    return torch.randn(examples, 8) * (torch.rand(examples, 8) < 0.02)


def test_channels_that_are_seldom_active_are_not_called_stale_for_what_few_examples_are():
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 2))
    for _ in range(60):
        model(seldom(64))
    assert kinds(model.eval(), seldom(256)) == set()
    model[0].running_var *= 100
    assert kinds(model, seldom(256)) == {("stale", "0")}


def test_inputs_of_a_small_scale_that_estimates_do_not_fit_are_a_fault():
    """Variances below eps: a deviation of 0.3 in train(), of 0.001 in eval()."""
    torch.manual_seed(0)
    assert kinds(nn.Sequential(nn.BatchNorm1d(8)), 1e-3 * torch.randn(64, 8)) == {("never updated", "0")}


def test_a_channel_that_never_changes_has_no_estimate_to_be_off():
    assert kinds(nn.Sequential(nn.BatchNorm1d(8)), torch.ones(64, 8)) == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_with_its_layer_alone(network, fault):
    assert verdict(*network, fault) == "found"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in QUICK else pytest.mark.networks)
        for name in NAMES
        if name != SMALL
    ],
)
def test_a_fault_in_networks_of_others_is_named(name):
    model, inputs = healthy(name)
    assert found(model, inputs) == set()
    assert {fault: verdict(model, inputs, fault) for fault in FAULTS} == dict.fromkeys(FAULTS, "found")
    assert found(repair.to_groups(model), inputs) == set()


def test_a_verdict_is_not_always_found(network, monkeypatch):
    monkeypatch.setitem(planted_faults.FAULTS, "nothing", (lambda module: None, ("stale",)))
    assert verdict(*network, "nothing") == "nothing"


def test_a_diagnosis_leaves_the_network_as_it_is():
    model, x = small().train(), torch.randn(20, 3, 4, 4)
    model[1].eval()
    before, modes = copy.deepcopy(model.state_dict()), [each.training for each in model.modules()]
    state = torch.get_rng_state()
    diagnose(model, x)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [each.training for each in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


def test_batches_and_maps_that_are_too_small_are_faults():
    model = small()
    assert ("tiny batch", "5") in kinds(model, torch.randn(4, 3, 8, 8))
    assert ("tiny batch", "1") not in kinds(model, torch.randn(4, 3, 8, 8))
    assert ("batch of 1", "") in kinds(model, torch.randn(1, 3, 8, 8))
    notes = {(each.kind, each.layer) for each in diagnose(model, torch.randn(32, 3, 8, 8)).findings}
    assert ("batch of 1", "5") in notes
    assert ("batch of 1", "1") not in notes


@pytest.mark.parametrize(("groups", "erased"), [(6, True), (3, True), (2, False), (1, False)])
def test_groups_that_erase_their_input_are_faults(groups, erased):
    model = small()
    model[5] = nn.GroupNorm(groups, 6)
    assert (("erased", "5") in kinds(model, torch.randn(32, 3, 8, 8))) is erased


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -1.0])
def test_a_running_variance_that_evaluation_makes_nan_of_is_found(broken):
    model = small()
    model[1].running_var[1] = broken
    assert ("not finite", "1") in kinds(model, torch.randn(32, 3, 8, 8))


def test_an_eps_above_the_variance_and_a_momentum_of_one_are_notes():
    model = small()
    model[1].eps, model[5].momentum = 100.0, 1.0
    notes = {(each.kind, each.layer) for each in diagnose(model, torch.randn(32, 3, 8, 8)).findings}
    assert {("eps", "1"), ("undersampled", "5")} <= notes


def test_every_normalization_has_its_cost(network):
    model, inputs = network
    rows = diagnose(model, inputs).layers
    assert set(rows) == set(normalizations(model))
    assert all(row["ms"] > 0 and 0 < row["share"] < 1 for row in rows.values())
