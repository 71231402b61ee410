"""Weights: scale-invariant, saturated, computed by a hook, shared, in half precision."""

import pytest
import torch
from networks_to_diagnose import small
from torch import nn
from torch.nn.utils import prune

import normexp
from normexp.diagnosis.diagnose import diagnose
from normexp.probes.layers import free_weights


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


def test_layers_that_share_a_weight_are_measured_as_one():
    """torch refused two values for one parameter, and the diagnosis ended in its error."""
    cancels = nn.LayerNorm(4, elementwise_affine=False)
    model = nn.Sequential(nn.Linear(4, 4, bias=False), cancels, nn.Linear(4, 4, bias=False), cancels)
    model[2].weight = model[0].weight
    weights = diagnose(model, torch.randn(32, 4), {"lr": 0.1}).weights
    assert weights["0.weight"] == weights["2.weight"]
    assert weights["0.weight"]["effective_rate"] == pytest.approx(0.1 / float(model[0].weight.detach().square().sum()))
