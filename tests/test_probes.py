"""Probes measure a network while it trains, and change nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from normexp import execute
from normexp.config import compose
from normexp.instantiate import instantiate
from normexp.probes.percentiles import Percentiles
from normexp.records import RunDirectory

TINY = ("model=mlp", "model.widths=[6,5]", "model.activation=sigmoid", "norm=batch", "batch_size=16", "steps=12")
TINY += ("eval_every=5", "device=cpu", "threads=1")


@pytest.fixture
def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = (nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sigmoid(), nn.Linear(4, 2), nn.Tanh(), nn.Linear(2, 2))
    return nn.Sequential(*layers)


@pytest.mark.parametrize("unit", [0, 1, 6])
def test_percentiles_are_those_of_numpy(network, unit):
    x = torch.randn(101, 3)
    found = Percentiles(unit=unit, at=(0.0, 15.0, 50.0, 97.5)).measure(network, x)
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
    found = Percentiles(unit=2, at=(50.0,)).measure(nn.Sequential(nn.ReLU()), x)
    assert found[0][2] == pytest.approx(np.percentile(x[:, 2].numpy(), 50), rel=1e-5)


def test_percentiles_leave_the_network_as_it_was(network):
    before = {name: value.clone() for name, value in network.state_dict().items()}
    Percentiles().measure(network, torch.randn(9, 3))
    assert network.training
    assert not any(module._forward_pre_hooks for module in network.modules())
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def run(path: Path, *overrides: str) -> RunDirectory:
    config = compose([*TINY, *overrides])
    data = instantiate(config["dataset"]).load(config["seed"])
    execute.execute(config, data, RunDirectory(path), force=False)
    return RunDirectory(path)


def test_probe_changes_nothing_in_the_run(tmp_path):
    with_probe, without = run(tmp_path / "with", "probe=percentiles"), run(tmp_path / "without")
    for name in ("metrics.csv", "checkpoint.safetensors"):
        assert (with_probe.path / name).read_bytes() == (without.path / name).read_bytes()
    assert (without.path / "probes.csv").read_text() == "step,probe,layer,statistic,value\n"


def test_probe_writes_a_row_per_evaluation_layer_and_statistic(tmp_path):
    path = run(tmp_path, "probe=percentiles").path / "probes.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    layers, statistics = ("nonlinearity 1", "nonlinearity 2"), ("p15", "p50", "p85")
    keys = [(row["step"], row["probe"], row["layer"], row["statistic"]) for row in rows]
    steps = ("0", "5", "10", "12")
    assert keys == [(step, "percentiles", layer, name) for step in steps for layer in layers for name in statistics]
    levels = [float(row["value"]) for row in rows if row["layer"] == layers[0]]
    assert all(low < middle < high for low, middle, high in zip(*[iter(levels)] * 3, strict=True))


@pytest.mark.parametrize(("saved", "dies"), [(6, 7), (7, 11), (99, 3)])
def test_probe_rows_survive_a_killed_run(tmp_path, monkeypatch, saved, dies):
    expected = (run(tmp_path / "whole", "probe=percentiles").path / "probes.csv").read_bytes()

    def watch(self: execute.Execution, done: int) -> bool:
        self.step = done
        if done == saved:
            self._save("running")
        if done == dies:
            raise KeyboardInterrupt
        return False

    with monkeypatch.context() as patch:
        patch.setattr(execute.Execution, "_watch", watch)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "killed", "probe=percentiles")
    assert (run(tmp_path / "killed", "probe=percentiles").path / "probes.csv").read_bytes() == expected
