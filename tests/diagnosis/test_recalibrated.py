"""Repairs: recalibrated estimates, groups, and what they refuse."""

import copy
import re

import pytest
import torch
from networks_to_diagnose import kinds, small
from torch import nn

import normexp
from normexp.cli.diagnose_verb import FIXES
from normexp.diagnosis import repair, settling
from normexp.diagnosis.diagnose import diagnose
from normexp.diagnosis.normalizations import moments, normalizations
from normexp.errors import UserError


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


@pytest.mark.parametrize("size", [1, 2, 3, 32])
@pytest.mark.parametrize("layer", [nn.BatchNorm2d(3).double(), nn.InstanceNorm2d(3)])
def test_halves_of_the_examples_are_the_same_in_batches_of_any_size(layer, size):
    data = torch.randn(65, 3, 2, 2, dtype=torch.float64)
    seen = moments(layer, {"": layer}, list(data.split(size)), halves=True)[""]
    for first, half in enumerate(seen.halves):
        assert half.examples == 33 - first
        torch.testing.assert_close(half.mean, data[first::2].mean((0, 2, 3)))


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


def test_python_has_diagnosis_and_repairs():
    assert normexp.diagnose is diagnose
    assert normexp.recalibrate is repair.recalibrate
    assert set(FIXES) == set(repair.FIXES)


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
