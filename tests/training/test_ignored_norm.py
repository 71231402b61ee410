"""A scheme that a network has no place for is said in one line; one that acts in any way is not."""

import pytest
from companions import KINDS
from in_process import InProcess

from normexp.config import compose
from normexp.data.loading import Loader
from normexp.errors import Impossible
from normexp.norms.networks.conversion import Conversion
from normexp.records import IGNORED, find_runs
from normexp.sweeps.workers import KeptWorkers
from normexp.training.build import build
from normexp.training.checks.ignored_norm import ignored_norm

OWN = """
from dataclasses import dataclass
import torch
from torch import nn
from normexp.norms.base import Norm, TimeStep

class Deaf(nn.Module):
    def __init__(self, input_shape, num_outputs, norm):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, num_outputs))

    def forward(self, x):
        return self.layers(x)

class Plain(Deaf):
    def __init__(self, input_shape, num_outputs):
        super().__init__(input_shape, num_outputs, None)

def normalized(num_outputs):
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, num_outputs))

class Hearing(Deaf):
    def __init__(self, input_shape, num_outputs, norm):
        super().__init__(input_shape, num_outputs, norm)
        self.layers[1] = norm.block(self.layers[1])

class Bare(Hearing):
    def __init__(self, input_shape, num_outputs, norm):
        super().__init__(input_shape, num_outputs, norm)
        assert type(norm) is not Norm

@dataclass(frozen=True, kw_only=True)
class Halves(Norm):
    def parametrize(self, layer):
        with torch.no_grad():
            layer.weight.mul_(0.5)
        return layer

@dataclass(frozen=True, kw_only=True)
class Hooks(Norm):
    def parametrize(self, layer):
        layer.register_forward_hook(lambda module, inputs, output: output / 2)
        return layer

@dataclass(frozen=True, kw_only=True)
class Recurs(Norm):
    def recurrent(self, num_features, max_steps, site="sum"):
        return TimeStep(nn.Tanh())

@dataclass(frozen=True, kw_only=True)
class Penalizes(Norm):
    def penalty(self, model):
        return sum(each.square().sum() for each in model.parameters())
"""
LOADER = Loader()


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    (tmp_path / "deaf_nets.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))


def said(*overrides):
    config = compose([*overrides, "batch_size=64", "threads=1"])
    data = LOADER.load(config)
    return ignored_norm(config, build(config, data, LOADER.examples), data)


@pytest.mark.parametrize("norm", KINDS[1:])
def test_a_scheme_is_missed_where_there_is_no_layer_for_it_and_there_alone(norm):
    try:
        assert said("model=linear", f"norm={norm}").startswith(f"norm={norm} changes nothing in model=linear")
        assert said("model=mlp", f"norm={norm}", "model.widths=[64]") == ""
    except Impossible:
        assert said("model=cnn", f"norm={norm}", "model.widths=[8]") == ""


def test_it_is_not_missed_where_it_has_the_output_layer():
    assert said("model=linear", "norm=batch", "model.normalize_output=true") == ""


@pytest.mark.parametrize(
    ("overrides", "way_out"),
    [
        (["model=linear", "norm=batch"], "model.normalize_output=true"),
        (["model=mlp", "model.widths=[]", "norm=layer"], "model.normalize_output=true"),
        (["model=mlp", "norm=stack"], "norm.weights=weight_standard"),
        (["model=deaf_nets.Deaf", "plugins=[deaf_nets]", "norm=group"], "norm.block(layer, activation)"),
        (["model=deaf_nets.normalized", "plugins=[deaf_nets]", "norm=weight"], "norm.block(layer, activation)"),
    ],
)
def test_it_is_said_with_a_way_out(overrides, way_out):
    assert way_out in said(*overrides)


def test_a_network_is_planned_once(monkeypatch):
    """Reading it is most of the time: where the scheme has no place it was read again, to be left as it is."""
    planned = []
    monkeypatch.setattr("normexp.norms.convert.Conversion", lambda *given: planned.append(given) or Conversion(*given))
    config = compose(["model=deaf_nets.normalized", "plugins=[deaf_nets]", "norm=weight"])
    build(config, LOADER.load(config))
    assert len(planned) == 1


def test_the_output_layer_is_no_way_out_for_a_scheme_that_does_nothing_there():
    found = said("model=linear", "norm=deaf_nets.Recurs", "plugins=[deaf_nets]")
    assert found == "norm=deaf_nets.Recurs changes nothing in model=linear: what is trained is norm=none"


@pytest.mark.parametrize(
    "overrides",
    [
        ["model=linear", "norm=none"],
        ["model=mlp", "norm=stack", "norm.weights=weight"],
        *([f"model=deaf_nets.{model}", "norm=batch"] for model in ("Hearing", "Bare")),
        *(["model=deaf_nets.Plain", f"norm._target_=deaf_nets.{norm}"] for norm in ("Halves", "Hooks", "Penalizes")),
        ["model=deaf_nets.Deaf", "norm._target_=deaf_nets.Penalizes"],
    ],
)
def test_nothing_is_said_of_a_scheme_that_acts(overrides):
    assert said(*overrides, "plugins=[deaf_nets]") == ""


def test_a_run_says_it_and_trains(cli, results):
    words = ("model=linear", "norm=batch", "steps=2", "threads=1", f"results_dir={results}", "--quiet")
    status, _, stderr = cli("run", *words)
    assert status == 0
    assert stderr == (
        "normexp: norm=batch changes nothing in model=linear: what is trained is norm=none; "
        "model.normalize_output=true gives it the output layer, too\n"
    )


def test_the_workers_of_a_sweep_say_it_once(caplog):
    kept = KeptWorkers()
    first, second = kept.take(1), kept.take(1)
    for worker in (first, second):
        worker._warn("norm=batch changes nothing")
    assert caplog.messages == ["norm=batch changes nothing"]


def test_the_record_says_it_and_so_does_every_table(cli, results, monkeypatch):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    words = ("model=linear,mlp", "steps=2", "threads=1", "recipe=none", f"results_dir={results}")
    note = "Warning: norm=batch changes nothing in model=linear: what is trained is norm=none."
    status, stdout, _ = cli("sweep", "norm=none,batch", *words, "--jobs", "1")
    assert (status, stdout.count(note)) == (0, 1)
    assert cli("table", str(results))[1].count(note) == 1
    said = {
        run.path.name.removeprefix("digits-").split("-seed")[0]: run.environment.get(IGNORED)
        for run in find_runs([results])
    }
    assert said == {"linear-none": None, "linear-batch": note[9:-1], "mlp-none": None, "mlp-batch": None}
