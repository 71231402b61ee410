"""A probe changes nothing of a run, and its rows survive one that is killed."""

import csv
from functools import cache
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from situations import ASK_MUCH, PROBES, RESIDUAL, TINY

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.records import RunDirectory
from normexp.runs import trainer

pytestmark = pytest.mark.slow  # every one trains; test_every_probe.py has the quick ones


def run(path: Path, *overrides: str, network: tuple[str, ...] = TINY) -> RunDirectory:
    config = compose([*network, *overrides])
    data = instantiate(config["dataset"]).load(config["seed"])
    trainer.train(config, data, RunDirectory(path), force=False)
    return RunDirectory(path)


def check_equal_training(one: RunDirectory, other: RunDirectory) -> None:
    """Curves, weights, optimizer and random states; a checkpoint also knows the probes' own file."""
    assert (one.path / "metrics.csv").read_bytes() == (other.path / "metrics.csv").read_bytes()
    saved, expected = (load_file(run.path / "checkpoint.safetensors") for run in (one, other))
    assert saved.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in saved.items())


@pytest.mark.parametrize("norm", ["batch", "online", "spectral_penalty", "weight_mean_only"])
def test_probe_changes_nothing_in_the_run(tmp_path, norm):
    every = ("probe=several", f"probe.of=[{','.join(PROBES)}]")
    with_probes, without = run(tmp_path / "with", f"norm={norm}", *every), run(tmp_path / "without", f"norm={norm}")
    check_equal_training(with_probes, without)
    rows = list(csv.DictReader((with_probes.path / "probes.csv").read_text().splitlines()))
    assert {row["probe"] for row in rows} == {*PROBES}
    assert (without.path / "probes.csv").read_text() == "step,probe,layer,statistic,value\n"


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """A run of a network without a probe, trained once: without(network)."""
    return cache(lambda network: run(tmp_path_factory.mktemp("without") / "run", network=network))


@pytest.mark.parametrize("name", [*PROBES, *ASK_MUCH])
def test_probe_alone_changes_nothing_in_the_run(tmp_path, without, name):
    network = RESIDUAL if name in ASK_MUCH else TINY
    with_probe = run(tmp_path / "with", f"probe={name}", network=network)
    check_equal_training(with_probe, without(network))
    assert len((with_probe.path / "probes.csv").read_text().splitlines()) > 4


def test_probe_knows_the_rate_of_the_next_step(tmp_path):
    path = run(tmp_path, "probe=effective_rate", "schedule=cosine", "optim.lr=0.3").path
    rates = {row["step"]: float(row["lr"]) for row in csv.DictReader((path / "metrics.csv").read_text().splitlines())}
    rows = list(csv.DictReader((path / "probes.csv").read_text().splitlines()))
    named = {(row["step"], row["layer"], row["statistic"]): float(row["value"]) for row in rows}
    for step, rate in rates.items():
        square = named[step, "hidden.0.0.weight", "squared_norm"]
        assert named[step, "hidden.0.0.weight", "effective_rate"] == pytest.approx(rate / square, rel=1e-9)
    assert len(set(rates.values())) > 2


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

    def poll(self: trainer.Trainer) -> bool:
        if self.position.step == saved:
            self.save("running")
        if self.position.step == dies:
            raise KeyboardInterrupt
        return False

    with monkeypatch.context() as patch:
        patch.setattr(trainer.Trainer, "_poll", poll)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "killed", "probe=percentiles")
    assert (run(tmp_path / "killed", "probe=percentiles").path / "probes.csv").read_bytes() == expected
