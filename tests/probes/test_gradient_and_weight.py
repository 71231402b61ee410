"""The probes of gradients, weights and updates."""

import copy
import math

import numpy as np
import pytest
import torch
from situations import facing, found
from torch import Tensor, nn

from normexp.norms.weight import WeightNorm
from normexp.probes.effective_rate import EffectiveRate
from normexp.probes.gradient_norm import GradientNorm
from normexp.probes.moments import Moments
from normexp.probes.update_angle import UpdateAngle
from normexp.probes.weight_norm import WeightNorms


def test_gradient_norm_is_that_of_finite_differences(network):
    network = network.double()
    situation = facing(network, torch.randn(20, 3, dtype=torch.double), torch.randn(20, dtype=torch.double))
    values = found(GradientNorm(), situation)
    x, y = situation.training(20)

    def loss(name: str, place: int, shift: float) -> float:
        moved = copy.deepcopy(network)
        with torch.no_grad():
            moved.get_parameter(name).view(-1)[place] += shift
            return float(situation.loss(moved(x), y))

    total = 0.0
    for name, parameter in network.named_parameters():
        slopes = [(loss(name, i, 1e-6) - loss(name, i, -1e-6)) / 2e-6 for i in range(parameter.numel())]
        assert values[name, "gradient_norm"] == pytest.approx(np.linalg.norm(slopes), rel=1e-5, abs=1e-8)
        total += np.square(slopes).sum()
    assert values["network", "gradient_norm"] == pytest.approx(math.sqrt(total), rel=1e-5)


def test_gradient_norm_shrinks_as_a_normalized_weight_grows(network):
    network = network.double()
    network[1].eps = 1e-30
    situation = facing(network, torch.randn(20, 3, dtype=torch.double))
    before = found(GradientNorm(), situation)
    with torch.no_grad():
        network[0].weight.mul_(3)
    after = found(GradientNorm(), situation)
    assert after["0.weight", "gradient_norm"] == pytest.approx(before["0.weight", "gradient_norm"] / 3, rel=1e-10)
    assert after["3.weight", "gradient_norm"] == pytest.approx(before["3.weight", "gradient_norm"], rel=1e-10)


def weight_normalized(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    scheme = WeightNorm()
    return nn.Sequential(scheme.parametrize(nn.Linear(5, 4)), nn.Tanh(), scheme.parametrize(nn.Linear(4, 2))).double()


def test_weight_norm_is_of_the_weight_in_use_and_of_the_one_behind_it():
    model = weight_normalized()
    layer = model[0]
    layer.parametrizations.weight.original0.data = torch.tensor([[3.0], [4.0], [-12.0], [0.0]]).double()
    v = layer.parametrizations.weight.original1.data
    values = found(WeightNorms(), facing(model, torch.randn(1, 5)))
    assert values["0.weight", "norm"] == pytest.approx(13.0, rel=1e-12)
    assert values["0.weight", "unit_norm"] == pytest.approx(19 / 4, rel=1e-12)
    name = "0.parametrizations.weight.original1"
    assert values[name, "norm"] == pytest.approx(np.sqrt((v.numpy() ** 2).sum()), rel=1e-12)
    assert values[name, "unit_norm"] == pytest.approx(np.sqrt((v.numpy() ** 2).sum(1)).mean(), rel=1e-12)


def test_weight_norm_of_a_layer_with_one_input_is_of_v_and_not_of_g():
    layer = WeightNorm().parametrize(nn.Linear(1, 2))
    assert ("0.parametrizations.weight.original1", "norm") in found(
        WeightNorms(), facing(nn.Sequential(layer), torch.randn(1, 1))
    )


def test_weight_norm_of_a_plain_convolution():
    conv = nn.Conv2d(2, 3, 3)
    values = found(WeightNorms(), facing(nn.Sequential(conv), torch.randn(1, 2, 4, 4)))
    lengths = np.sqrt((conv.weight.detach().numpy().astype(np.float64) ** 2).sum((1, 2, 3)))
    assert values == {
        ("0.weight", "norm"): pytest.approx(np.linalg.norm(lengths), rel=1e-12),
        ("0.weight", "unit_norm"): pytest.approx(lengths.mean(), rel=1e-12),
    }


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0])
def test_update_is_orthogonal_to_the_direction_of_weight_normalization(rate):
    model, x = weight_normalized(), torch.randn(30, 5, dtype=torch.double)
    values = found(UpdateAngle(), facing(model, x, torch.randn(30).double(), rate))
    for place in (0, 2):
        name = f"{place}.parametrizations.weight.original1"
        assert abs(values[name, "cosine"]) < 1e-12
        assert values[name, "unit_cosine"] < 1e-12
        growth = values[name, "growth"]
        assert growth == pytest.approx(math.sqrt(1 + values[name, "relative_step"] ** 2), rel=1e-13)
        assert growth == pytest.approx(values[name, "growth_if_orthogonal"], rel=1e-13)
        assert growth > 1 + 1e-9


def test_update_angle_tells_what_a_step_of_sgd_does(network):
    situation = facing(network, torch.randn(40, 3), torch.randn(40), rate=0.3)
    values = found(UpdateAngle(), situation)
    after = copy.deepcopy(network)
    optimizer = torch.optim.SGD(after.parameters(), lr=0.3)
    x, y = situation.training(40)
    situation.loss(after(x), y).backward()
    optimizer.step()
    for place in (0, 3, 5):
        old, new = (each[place].weight.detach().double().numpy() for each in (network, after))
        step = new - old
        expected = {
            "growth": np.linalg.norm(new) / np.linalg.norm(old),
            "relative_step": np.linalg.norm(step) / np.linalg.norm(old),
            "cosine": (old * step).sum() / np.linalg.norm(old) / np.linalg.norm(step),
            "unit_cosine": max(
                abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(old, step, strict=True)
            ),
        }
        for statistic, value in expected.items():
            assert values[f"{place}.weight", statistic] == pytest.approx(value, rel=1e-3, abs=1e-5)


def test_effective_rate_is_of_scale_invariant_weights_alone(network):
    network[1].eps = 1e-12
    values = found(EffectiveRate(), facing(network, torch.randn(64, 3), rate=0.2))
    squared = float(network[0].weight.detach().double().square().sum())
    assert values["0.weight", "effective_rate"] == pytest.approx(0.2 / squared, rel=1e-6)
    assert values["0.weight", "squared_norm"] == pytest.approx(squared, rel=1e-6)
    assert values["0.weight", "output_change"] < 1e-4
    assert {name for name, statistic in values if statistic == "effective_rate"} == {"0.weight"}
    assert values["3.weight", "output_change"] > 0.01


class ByName(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(input=x)


def test_a_layer_that_is_called_with_a_named_input_is_seen():
    assert {reading[0] for reading in Moments().measure(facing(ByName(), torch.randn(8, 3)))} == {"layer"}


def test_effective_rate_is_of_v_under_weight_normalization():
    values = found(EffectiveRate(), facing(weight_normalized(), torch.randn(8, 5).double()))
    names = {name for name, statistic in values if statistic == "effective_rate"}
    assert names == {f"{place}.parametrizations.weight.original1" for place in (0, 2)}
