"""Percentiles and moments of what enters the functions of a network are those of numpy."""

import numpy as np
import pytest
import torch
from situations import facing, found
from torch import Tensor, nn

from normexp.probes.moments import Moments
from normexp.probes.percentiles import Percentiles


@pytest.mark.parametrize("unit", [0, 1, 6])
def test_percentiles_are_those_of_numpy(network, unit):
    x = torch.randn(101, 3)
    found = Percentiles(unit=unit, at=(0.0, 15.0, 50.0, 97.5)).measure(facing(network, x))
    network.eval()
    expected = []
    with torch.no_grad():
        for name, entering in (("nonlinearity 1", network[:2](x)), ("nonlinearity 2", network[:4](x))):
            values = entering[:, unit % entering.shape[1]].numpy()
            expected += [(name, f"p{p:g}", np.percentile(values, p)) for p in (0, 15, 50, 97.5)]
    assert [reading[:2] for reading in found] == [reading[:2] for reading in expected]
    np.testing.assert_allclose([value for *_, value in found], [value for *_, value in expected], rtol=1e-5, atol=1e-7)


def test_percentiles_of_feature_maps_are_over_examples_and_positions():
    x = torch.randn(7, 3, 4, 5)
    found = Percentiles(unit=2, at=(50.0,)).measure(facing(nn.Sequential(nn.ReLU()), x))
    assert found[0][2] == pytest.approx(np.percentile(x[:, 2].numpy(), 50), rel=1e-5)


def test_percentiles_of_more_values_than_torch_takes(monkeypatch):
    """1000 maps of 130 x 130 are too many for torch.quantile in some versions, and ended the run in its error."""
    x, usual = torch.randn(5, 3, 4, 5), torch.quantile

    def with_a_limit(values: Tensor, shares: Tensor) -> Tensor:
        if values.numel() > 64:
            raise RuntimeError("quantile() input tensor is too large")
        return usual(values, shares)

    monkeypatch.setattr(torch, "quantile", with_a_limit)
    monkeypatch.setattr("normexp.probes.percentiles.MOST", 64, raising=False)
    found = Percentiles(at=(15.0, 85.0)).measure(facing(nn.Sequential(nn.ReLU()), x))
    np.testing.assert_allclose([value for *_, value in found], np.percentile(x[:, 0].numpy(), (15, 85)), rtol=1e-6)


def test_percentiles_are_of_what_enters_a_function_that_works_in_place():
    x = torch.randn(9, 3)
    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    readings = [Percentiles().measure(facing(nn.Sequential(layer, nn.ReLU(each)), x)) for each in (False, True)]
    assert readings[0] == readings[1]
    assert readings[0][0][2] < 0


def test_moments_are_those_of_numpy(network):
    x = torch.randn(50, 3) + 1
    values = found(Moments(), facing(network, x))
    network.eval()
    with torch.no_grad():
        entering = {"0": x, "nonlinearity 1": network[:2](x), "3": network[:3](x)}
    for name, each in entering.items():
        mean, std = each.numpy().mean(0), each.numpy().std(0)
        expected = {"mean": each.numpy().mean(), "std": each.numpy().std(), "unit_mean_abs": abs(mean).mean()}
        expected |= {"unit_std_mean": std.mean(), "unit_std_spread": std.std()}
        for statistic, value in expected.items():
            assert values[name, statistic] == pytest.approx(value, rel=1e-4, abs=1e-7)
    assert {layer for layer, _ in values} == {"nonlinearity 1", "nonlinearity 2", "0", "3", "5"}


def test_moments_of_maps_are_per_channel():
    conv = nn.Sequential(nn.Conv2d(2, 3, 1))
    x = torch.stack([torch.full((4, 4), 5.0), torch.full((4, 4), -3.0)]).expand(6, 2, 4, 4)
    values = found(Moments(), facing(conv, x))
    assert values["0", "unit_mean_abs"] == pytest.approx(4.0)
    assert values["0", "unit_std_mean"] == pytest.approx(0.0, abs=1e-6)
    assert values["0", "std"] == pytest.approx(4.0)
