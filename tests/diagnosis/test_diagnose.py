"""`normexp diagnose`: planted faults are named with their layer, a healthy network has none, repairs are exact."""

import contextlib
import copy
import json
import math
import os
import re
import sys
from pathlib import Path

import pytest
import torch
from one_line import one_line_error
from torch import nn
from torch.nn.utils import prune

import normexp
from normexp.cli.diagnose_verb import FIXES
from normexp.diagnosis import repair, settling
from normexp.diagnosis.batches import batches, first_tensor
from normexp.diagnosis.diagnose import diagnose
from normexp.diagnosis.normalizations import moments, normalizations
from normexp.errors import UserError
from normexp.probes.layers import free_weights
from normexp.records import waiting

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

import planted_faults  # noqa: E402
from planted_faults import FAULTS, NAMES, found, healthy, verdict  # noqa: E402

SMALL = "timm test_resnet"
QUICK = (  # seconds each; the others of docs/diagnose.md take minutes
    "torchvision resnet18",
    "torchvision shufflenet_v2_x0_5",
    "torchvision mobilenet_v2",
    "timm test_efficientnet",
    "timm test_byobnet",
    "timm regnetx_002",
)


@pytest.fixture(scope="module")
def network() -> tuple[nn.Module, list[torch.Tensor]]:
    return healthy(SMALL)


def small(*, pixels: int = 4) -> nn.Sequential:
    """A convolution and a map of 1 x 1, batch normalization behind both."""
    torch.manual_seed(0)
    pool = [nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6), nn.Flatten(), nn.Linear(6, 3)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), *pool)


def kinds(model: nn.Module, data: object) -> set[tuple[str, str]]:
    return {(each.kind, each.layer) for each in diagnose(model, data).faults}


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


def test_scale_invariant_weights_are_those_a_normalization_follows():
    model, x = small(), torch.randn(32, 3, 8, 8)
    diagnosis = diagnose(model, x, {"lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4})
    assert [name for name, row in diagnosis.weights.items() if "effective_rate" in row] == ["0.weight", "4.weight"]
    square = float(model[0].weight.detach().double().square().sum())
    assert diagnosis.weights["0.weight"]["effective_rate"] == pytest.approx(0.1 / square)
    assert diagnosis.summary["equilibrium_angle_in_radians"] == pytest.approx((2 * 0.1 * 5e-4 / 1.9) ** 0.5)


def test_a_weight_whose_sign_alone_is_lost_has_an_effect():
    """The mean of relu(z) is that of relu(-z) where z has the mean 0: the sign of the whole weight is no direction."""
    torch.manual_seed(0)
    behind = nn.InstanceNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
    diagnosis = diagnose(nn.Sequential(nn.Conv2d(3, 8, 3), *behind), torch.randn(32, 3, 8, 8))
    assert (diagnosis.summary["scale_invariant_weights"], diagnosis.summary["weights_without_effect"]) == (1, 0)


def test_a_transposed_convolution_in_groups_has_its_weights_measured():
    """Each was a ValueError about a scheme for the weights."""
    torch.manual_seed(0)
    layer = nn.ConvTranspose2d(4, 6, 3, groups=2)
    model = nn.Sequential(layer, nn.BatchNorm2d(6, eps=1e-9), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 36, 2))
    row = diagnose(model, torch.randn(16, 4, 4, 4), {"lr": 0.1}).weights["0.weight"]
    assert row["effective_rate"] == pytest.approx(0.1 / float(layer.weight.detach().double().square().sum()))
    units = free_weights(model)["0.weight"].units
    entering = [layer.weight[k // 3 * 2 :][:2, k % 3].flatten() for k in range(6)]  # of output channel k
    torch.testing.assert_close(units, torch.stack(entering).detach().double())


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


def test_a_saturated_layer_is_a_note_and_has_no_effective_rate():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.Hardtanh(), nn.Linear(64, 5))
    model[0].weight.detach().mul_(1000)
    found = diagnose(model, torch.randn(64, 20), {"lr": 0.1})
    assert ("saturated", "0.weight") in {(each.kind, each.layer) for each in found.findings}
    assert found.summary["scale_invariant_weights"] == 0


def test_weights_in_half_precision_are_not_measured():
    """Rounding changes the outputs by more than a hundredth: none of them would be called scale-invariant."""
    found = diagnose(small().bfloat16(), torch.randn(32, 3, 8, 8))
    assert (found.findings[-1].kind, found.weights) == ("half precision", {})


class Branch(nn.Module):
    """x + scale f(x), as with layer scale, without a normalization."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.layer, self.scale = nn.Linear(6, 6), scale

    def forward(self, x):
        return x + self.scale * self.layer(x).relu()


def test_a_weight_that_hardly_acts_is_not_called_scale_invariant():
    """Doubling it changes the outputs by less than a hundredth, and so does any other weight in its place."""
    torch.manual_seed(0)
    weak, strong = (diagnose(Branch(scale), torch.randn(32, 6), {"lr": 0.1}) for scale in (1e-6, 1.0))
    assert weak.weights["layer.weight"]["scale_change"] < 0.01
    assert "effective_rate" not in weak.weights["layer.weight"]
    assert (weak.summary["scale_invariant_weights"], weak.summary["weights_without_effect"]) == (0, 1)
    assert strong.summary["weights_without_effect"] == 0


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "how", [nn.utils.weight_norm, nn.utils.spectral_norm, lambda layer: prune.l1_unstructured(layer, "weight", 0.5)]
)
def test_weights_that_a_hook_computes_are_those_behind_it(how):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, eps=1e-9), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    how(model[0])
    rows = diagnose(model, torch.randn(16, 3, 8, 8)).weights
    (name,) = set(rows) - {"4.weight"}
    assert name in {"0.weight_v", "0.weight_orig"}
    assert rows[name]["scale_change"] < 0.01 < rows["4.weight"]["scale_change"]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("how", [nn.utils.weight_norm, nn.utils.parametrizations.weight_norm])
def test_normalized_weights_are_named_and_are_a_normalization(how):
    layers = how(nn.Linear(6, 6)), nn.ReLU(), nn.utils.parametrizations.spectral_norm(nn.Linear(6, 2))
    notes = {(each.kind, each.layer) for each in diagnose(nn.Sequential(*layers), torch.randn(32, 6)).findings}
    assert notes == {("weight_norm", "0.weight"), ("spectral_norm", "2.weight")}
    ours = normexp.convert(nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 2)), normexp.norms.SpectralNorm())
    kinds = {(each.kind, each.layer) for each in diagnose(ours, torch.randn(32, 6)).findings}
    assert kinds == {("UnitSpectralNorm", "0.weight")}


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        return self.norm(input=x)


def test_a_normalization_that_is_called_with_a_named_input_is_seen():
    assert kinds(ByName(), 5 + torch.randn(64, 3, 8, 8)) == {("never updated", "norm")}


@pytest.mark.parametrize(
    ("model", "why"), [("resnet18", "str is no network"), (nn.BatchNorm2d(3).to("meta"), "on the meta")]
)
def test_what_is_no_network_is_one_line(model, why):
    with pytest.raises(UserError, match=f"^model: {why}"):
        diagnose(model, torch.randn(4, 3, 8, 8))


def test_every_normalization_has_its_cost(network):
    model, inputs = network
    rows = diagnose(model, inputs).layers
    assert set(rows) == set(normalizations(model))
    assert all(row["ms"] > 0 and 0 < row["share"] < 1 for row in rows.values())


def test_recalibrated_estimates_are_those_of_all_the_data():
    model = small().double()
    parts = [part + 2 for part in torch.randn(50, 3, 4, 4, dtype=torch.float64).split([20, 7, 23])]
    repair.recalibrate(model, parts)
    seen = moments(model.eval(), {name: model.get_submodule(name) for name in ("1", "5")}, parts)
    for name in ("1", "5"):
        torch.testing.assert_close(model.get_submodule(name).running_mean, seen[name].mean)
        torch.testing.assert_close(model.get_submodule(name).running_var, seen[name].variance)
    entering = model[0](torch.cat(parts)).detach().movedim(1, 0).flatten(1)
    torch.testing.assert_close(model[1].running_mean, entering.mean(1))
    torch.testing.assert_close(model[1].running_var, entering.var(1))


class Again(nn.Module):
    """Calls its layer for what it has made before, as networks do that share their weights over depth or time."""

    def __init__(self, calls: int, factor: float = 1.0) -> None:
        super().__init__()
        self.layer, self.norm, self.last = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.BatchNorm1d(6)
        self.calls, self.factor = calls, factor

    def forward(self, x):
        for _ in range(self.calls):
            x = self.norm(self.factor * self.layer(x)).relu() + x / 10
        return self.last(x)


class Pyramid(nn.Module):
    """One normalization for maps of two sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        x = x * torch.tensor([1.0, 2.0, 0.0])[:, None, None]  # the last channel is dead
        return self.norm(x).mean((2, 3)) + self.norm(5 * x[..., :3, :3]).mean((2, 3))


@pytest.mark.parametrize(
    ("make", "shape", "off"), [(lambda: Again(4), (6,), 1e-3), (Pyramid, (3, 8, 8), 1e-6)], ids=["again", "two sizes"]
)
def test_a_layer_that_is_called_again_gets_the_statistics_of_all_its_calls(make, shape, off):
    """Those of its later calls were taken as they were with the estimates that it had before."""
    torch.manual_seed(0)
    model, inputs = make().double(), [3 * torch.randn(size, *shape).double() + 1 for size in (100, 28)]
    norms = normalizations(repair.recalibrate(model, inputs))
    seen = moments(model.eval(), norms, inputs)
    for path, norm in norms.items():
        assert ((norm.running_mean - seen[path].mean).abs() <= off * seen[path].variance.sqrt()).all()
        torch.testing.assert_close(norm.running_var, seen[path].variance, rtol=off, atol=0)


def test_statistics_that_do_not_settle_are_a_warning(caplog, monkeypatch):
    monkeypatch.setattr(settling, "ROUNDS", 2)
    torch.manual_seed(0)
    repair.recalibrate(Again(4, factor=30.0), torch.randn(64, 6))
    (said,) = caplog.messages
    assert re.match(r"(norm|last): running statistics did not settle in 2 rounds, they are .* off: ", said)


class BySize(nn.Module):
    """Large and small images go through layers of their own, and then through one of both."""

    def __init__(self) -> None:
        super().__init__()
        self.large, self.small, self.both = nn.BatchNorm2d(3), nn.BatchNorm2d(3), nn.BatchNorm2d(3)

    def forward(self, x):
        return self.both((self.large(x) if x.shape[-1] > 10 else self.small(x)).relu())


def test_a_layer_that_the_first_batch_does_not_call_is_recalibrated_too():
    torch.manual_seed(0)
    inputs = two_sizes()[::-1]
    norms = normalizations(model := repair.recalibrate(BySize(), iter(inputs)))
    seen = moments(model.eval(), norms, inputs)
    assert list(seen) == ["large", "both", "small"]
    for path, norm in norms.items():
        torch.testing.assert_close(norm.running_var.double(), seen[path].variance, rtol=1e-3, atol=0)


def of_each_brightness() -> torch.Tensor:
    return torch.randn(32, 3, 8, 8) + 5 * torch.randn(32, 3, 1, 1)


def test_running_estimates_of_instance_normalization_are_those_of_each_example():
    """The variance over all examples was expected, so that estimates right after training were called stale."""
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.InstanceNorm2d(3, momentum=1.0, track_running_stats=True)), of_each_brightness()
    model(x)
    mean, variance = model[0].running_mean.clone(), model[0].running_var.clone()
    assert kinds(model.eval(), x) == set()
    repair.recalibrate(model, [x[:20], x[20:]])
    torch.testing.assert_close((model[0].running_mean, model[0].running_var), (mean, variance))
    model[0].running_var *= 1e4
    assert kinds(model, x) == {("stale", "0")}


def test_groups_of_a_repair_have_sixteen_channels_or_all():
    model = repair.to_groups(
        nn.Sequential(*(nn.Sequential(nn.Conv2d(3, c, 1), nn.BatchNorm2d(c)) for c in (8, 48, 34)))
    )
    sizes = [each.num_channels // each.num_groups for each in model.modules() if isinstance(each, nn.GroupNorm)]
    assert sizes == [8, 16, 17]


def test_groups_keep_scale_and_shift_and_refuse_one_channel():
    model = small()
    nn.init.uniform_(model[1].weight)
    scale = model[1].weight.detach().clone()
    assert torch.equal(repair.to_groups(model)[1].weight, scale)
    with pytest.raises(UserError, match="one channel"):
        repair.to_groups(nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)))


@pytest.mark.parametrize(
    "data",
    [3, "images", {}, [], [1], ([],), torch.tensor(3.0), torch.zeros(0, 3, 8, 8), torch.full((4, 3, 8, 8), math.inf)],
    ids=lambda data: str(getattr(data, "shape", data)),
)
def test_data_that_are_none_are_one_line(data):
    with pytest.raises(UserError, match="data: "):
        diagnose(small(), data)


def test_a_list_of_batches_is_told_from_inputs_and_labels():
    x, y = torch.randn(4, 3, 2, 2), torch.tensor([0, 1, 2, 0])
    for data in (x, (x, y), [x, y], [(x, y)], [[x, y]], iter([x])):
        assert [len(each) for each in batches(data)] == [4]
    assert [len(each) for each in batches([x, x[:2]])] == [4, 2]
    assert [len(each) for each in batches(torch.utils.data.DataLoader(list(zip(x, y, strict=True)), 3))] == [3, 1]


def test_a_batch_that_the_network_does_not_take_is_one_line():
    with one_line_error(r"cannot be called with a batch of shape \(4, 5\)"):
        diagnose(small(), torch.randn(4, 5))


class NeedsTargets(nn.Sequential):
    """As torchvision's detectors, which return losses in train()."""

    def forward(self, x):
        assert not self.training, "targets should not be none when in training mode"
        return super().forward(x)


class Picky(nn.Module):
    def forward(self, x):
        raise KeyError("pixel_values")


def test_a_network_that_cannot_be_called_in_train_is_a_fault_of_its_own_kind():
    found = diagnose(NeedsTargets(*small()), torch.randn(32, 3, 8, 8))
    (stopped,) = [each for each in found.faults if each.kind == "train()"]
    assert stopped.layer == ""
    assert stopped.text == "stops with AssertionError: targets should not be none when in training mode"
    assert set(found.layers) == {"1", "5"}


def test_whatever_a_network_raises_is_one_line():
    with pytest.raises(UserError, match=r"cannot be called with a batch of shape \(4, 5\): KeyError: 'pixel_values'"):
        diagnose(Picky(), torch.randn(4, 5))


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


def test_layers_that_share_a_weight_are_measured_as_one():
    """torch refused two values for one parameter, and the diagnosis ended in its error."""
    cancels = nn.LayerNorm(4, elementwise_affine=False)
    model = nn.Sequential(nn.Linear(4, 4, bias=False), cancels, nn.Linear(4, 4, bias=False), cancels)
    model[2].weight = model[0].weight
    weights = diagnose(model, torch.randn(32, 4), {"lr": 0.1}).weights
    assert weights["0.weight"] == weights["2.weight"]
    assert weights["0.weight"]["effective_rate"] == pytest.approx(0.1 / float(model[0].weight.detach().square().sum()))


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


def test_python_has_diagnosis_and_repairs():
    assert normexp.diagnose is diagnose
    assert normexp.recalibrate is repair.recalibrate
    assert set(FIXES) == set(repair.FIXES)


NETS = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(288, 2))

built = net()

def batch():
    return 2 + torch.randn(32, 3, 8, 8, generator=torch.Generator().manual_seed(0))

def both():
    return net(), batch()

def number():
    return 3

def views():
    model, whole = net(), torch.randn(3, 288)
    model[3].weight, model.other = nn.Parameter(whole[:2]), nn.Parameter(whole[1:])
    return model, batch()

def tied():
    model = net().extend([nn.Linear(2, 2), nn.Linear(2, 2)])
    model[5].weight = model[4].weight
    return model, batch()

def fails():
    raise KeyError("x")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "some_nets.py").write_text(NETS)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "nets.py").write_text("/")  # is not read
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "text.safetensors").symlink_to("text.npy")  # not even a link is replaced
    head = repr({"descr": "<f4", "fortran_order": False, "shape": (10**14,)}).ljust(117) + "\n"
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
    os.mkfifo(tmp_path / "pipe.npy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "some_nets", raising=False)
    return tmp_path


def test_the_command_names_a_fault_and_repairs_it(folder, cli):
    status, stdout, stderr = cli("diagnose", "some_nets:net", "some_nets:batch")
    assert (status, stderr) == (1, "")
    assert stdout.startswith("fault: never updated: 1: ")
    status, stdout, stderr = cli("diagnose", "some_nets:both", "--fix", "recalibrate", "--out", "w.safetensors")
    assert (status, stderr) == (0, "")
    assert (folder / "w.safetensors").stat().st_mode & 0o777 == (folder / "some_nets.py").stat().st_mode & 0o777
    sys.path.append(str(folder))
    from safetensors.torch import load_model
    from some_nets import batch, net

    model = net()
    load_model(model, "w.safetensors")
    assert kinds(model, batch()) == set()


@pytest.mark.parametrize(("name", "one", "other"), [("views", "other", "3.weight"), ("tied", "4.weight", "5.weight")])
def test_a_repaired_network_whose_weights_share_memory_is_written_by_every_name(folder, cli, name, one, other):
    """As its checkpoint has it: torch's own load_state_dict takes it, with no name missing."""
    assert cli("diagnose", f"some_nets:{name}", "--fix", "recalibrate", "--out", "w.safetensors")[0] == 0
    sys.path.append(str(folder))
    import some_nets
    from safetensors.torch import load_file

    model, data = getattr(some_nets, name)()
    model.load_state_dict(load_file("w.safetensors"))
    places = {model.get_parameter(each).untyped_storage().data_ptr() for each in (one, other)}
    assert len(places) == 1
    assert kinds(model, data) == set()


def test_the_command_prints_json(folder, cli):
    status, stdout, _ = cli("diagnose", "some_nets:both", "--json", "--lr", "0.1")
    document = json.loads(stdout)
    assert status == 1
    assert set(document) == {"findings", "layers", "weights", "summary"}
    assert document["findings"][0]["layer"] == "1"


MISTAKES = {
    "no such function": (["some_nets:nosuch"], "cannot be imported"),
    "a network that is built": (["some_nets:built", "some_nets:batch"], "some_nets:built: is a network that is built"),
    "no data": (["some_nets:net"], "returns no data"),
    "no file": (["some_nets:net", "images.npy"], "images.npy: no such file"),
    "a pipe": (["some_nets:net", "pipe.npy"], "pipe.npy: is no regular file"),
    "no array": (["some_nets:net", "text.npy"], "it does not begin as a .npy file does"),
    "more than there is memory for": (["some_nets:net", "huge.npy"], "huge.npy: cannot be read as an array"),
    "a name of two lines": (["some_nets\n:net"], "is not MODULE:FUNCTION"),
    "a path to here": (["./some_nets.py"], "did you mean some_nets:FUNCTION?"),
    "a path elsewhere": (
        ["deep/../deep/nets.py:net"],
        "go to the folder of deep/../deep/nets.py, and give nets:FUNCTION",
    ),
    "a function that fails": (["some_nets:fails"], "some_nets:fails: failed (KeyError: 'x'); --debug shows where"),
    "out is there": (["some_nets:both", "--fix", "recalibrate", "--out", "text.safetensors"], "is there already"),
    "out is a folder": (["some_nets:both", "--fix", "recalibrate", "--out", "deep"], "--out deep: is a folder"),
    "momentum": (["some_nets:both", "--momentum", "1"], "must be in [0, 1)"),
}


@pytest.mark.parametrize(("words", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_writes_nothing(folder, cli, words, said):
    before = sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")
    status, stdout, stderr = cli("diagnose", *words)
    assert (status, stdout, stderr.count("\n")) == (2, "", 1), stderr
    assert said in stderr
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == before


def test_a_long_look_says_how_far_it_is(caplog, monkeypatch):
    def loader():
        yield from (torch.randn(4, 3, 4, 4) for _ in range(5))

    with caplog.at_level("INFO", "normexp"):
        diagnose(small(), loader())
        assert caplog.messages == []  # of what is over in seconds
        monkeypatch.setattr(waiting, "FIRST", 0.0)
        monkeypatch.setattr(waiting, "EVERY", 0.0)
        diagnose(small(), loader())
        repair.recalibrate(small(), loader())
    said = caplog.messages
    assert [said[0], said[4], said[5]] == [
        "batches read: 1 of 64 at most",
        "batches read: 5 of 64 at most",
        "batch 1 of 5 passes the network",
    ]
    assert "weight 1 of 3 is scaled" in said
    assert "layer 2 of 2 is recalibrated; batches: 5" in said


# --- what recalibration refuses, with the network as it was


def two_sizes() -> list[torch.Tensor]:
    return [torch.randn(8, 3, 10, 10), torch.randn(8, 3, 12, 12) + 5]


REFUSED = {
    "no network": (lambda: None, torch.randn(4, 3), "is no network"),
    "other channels": (small, torch.randn(4, 5, 6, 6), "cannot be called with a batch"),
    "one value per channel": (small, torch.randn(1, 3, 6, 6), "5: gets one value per channel"),
    "too large": (lambda: nn.Sequential(nn.BatchNorm1d(3)), torch.randn(9, 3) * 1e25, "0: gets values too large"),
    "another kind": (
        lambda: normexp.convert(small(), normexp.norms.BatchRenorm()),
        torch.randn(4, 3, 6, 6),
        r"1 \(BatchRenormalization\) has running statistics of another kind",
    ),
    "batches or labels": (small, two_sizes(), "may be batches, or inputs and labels"),
}


@pytest.mark.parametrize(("make", "data", "why"), REFUSED.values(), ids=REFUSED)
def test_recalibration_refuses_and_leaves_the_network_as_it_is(make, data, why):
    model = make()
    before = copy.deepcopy(model.state_dict()) if model is not None else {}
    with pytest.raises(UserError, match=why):
        repair.recalibrate(model, data)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())


def test_batches_of_several_sizes_are_all_read():
    model = small()
    repair.recalibrate(model, iter(two_sizes()))
    assert model[1].num_batches_tracked == 2


def test_statistics_of_another_kind_are_named():
    model = normexp.convert(small(), normexp.norms.BatchRenorm())
    notes = {(each.kind, each.layer) for each in diagnose(model, torch.randn(32, 3, 8, 8)).findings}
    assert {("other statistics", "1"), ("other statistics", "5")} <= notes
    assert not {kind for kind, _ in notes} & {"no normalization"}
