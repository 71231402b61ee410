"""Networks, data and the rest in a file of the user's own: docs/own_parts.md, end to end, and its mistakes."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from normexp.records import find_runs
from normexp.runs.checkpointer import Checkpointer

DOCS = Path(__file__).parents[1] / "docs" / "own_parts.md"
TINY = ["steps=2", "batch_size=16", "threads=1", "--quiet"]
MINE = "plugins=[my_parts,odd_parts]"
ODD = """
import itertools
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from normexp.data.base import Data, Dataset, Split
from normexp.models.init.base import Init
from normexp.norms.base import Norm
from normexp.probes.base import Probe


@dataclass(frozen=True, kw_only=True)
class Typed(Norm):
    k: float = 1.0
    pair: tuple[float, float] = (1.0, 2.0)


def deep(input_shape, num_outputs, norm, depth: "int", act: "Nowhere" = None):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, num_outputs))


def embedding(num_outputs, norm):
    return nn.Embedding(num_outputs, num_outputs)


class Odd(nn.Module):
    def __init__(self, input_shape, num_outputs, norm, returns):
        super().__init__()
        self.layers, self.returns = nn.Sequential(nn.Flatten(), nn.LazyLinear(num_outputs)), returns
        self.layers(__import__("torch").zeros(2, *input_shape))

    def forward(self, x):
        return eval(self.returns, {"y": self.layers(x), "self": self, "sys": sys})


SPLITS = ("train", "validation", "test")


class Nothing:
    pass


class Keeping(nn.Module):
    def __init__(self, num_classes, norm, how):
        super().__init__()
        self.layer, self.how, self.calls = nn.Linear(64, num_classes), how, 0
        self.words = nn.Embedding(2, 2, sparse=how == "sparse")
        self.register_buffer("times", torch.zeros(1), persistent=False)

    def forward(self, x):
        x, self.examples = x.flatten(1), len(x)
        self.dropped = float(nn.functional.dropout(torch.ones_like(x)).mean())
        if self.how == "late" and not hasattr(self, "gain"):
            self.gain = nn.Parameter(torch.ones(64))
        if self.how == "seen" and not hasattr(self, "seen"):
            self.register_buffer("seen", x[0])
        self.calls += self.how == "calls"
        self.times += self.how == "times"
        if self.how == "slope":
            torch.autograd.grad(self.layer(x).sum(), self.layer.weight)
        return self.layer(x)


class Telling(Keeping):
    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


class Complex(nn.Module):
    def __init__(self, num_classes, norm):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64, num_classes, dtype=torch.complex64))

    def forward(self, x):
        return (x.flatten(1).to(torch.complex64) @ self.weight).abs()


ONCE = []


def once(num_classes):
    ONCE or ONCE.append(nn.Sequential(nn.Flatten(), nn.Linear(64, num_classes)))
    return ONCE[0]


built = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def rows():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 10))


class OldWeightNorm(nn.Module):
    def __init__(self, num_classes, norm):
        super().__init__()
        with warnings.catch_warnings(action="ignore"):
            self.layer = nn.utils.weight_norm(nn.Linear(64, num_classes))

    def forward(self, x):
        return self.layer(x.flatten(1))


def titled(num_classes, title: str):
    return bare(num_classes)


def bare(num_classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, num_classes))


def weight_normed(num_classes):
    network = bare(num_classes)
    for each in (network[1], network[3]):
        nn.utils.parametrizations.weight_norm(each)
    return network


class Computed(nn.Module):
    def __init__(self, num_classes, norm):
        super().__init__()
        self.layer = nn.Linear(64, num_classes)
        self.double = 2 * self.layer.weight

    def forward(self, x):
        return x.flatten(1) @ self.double.T


class Kept(Norm):
    made = None

    def normalization(self, num_features):
        Kept.made = Kept.made or nn.BatchNorm1d(num_features)
        return Kept.made


def drawing(step, total):
    return float(np.random.rand())


COUNTED = itertools.count(1)


def counting(step, total):
    return 1 / next(COUNTED)


def no_schedule(x):
    return x


def words(step, total):
    return "fast"


def rising(step, total, to):
    return 1 + (eval(to) - 1) * step / (total - 1)


def listed(step, total):
    return ([1.0] * total)[step]


def keyed(step, total):
    return {0: 1.0}[step]


def refusing(step, total):
    raise ValueError(f"no step {step}")


async def waiting(step, total):
    return 1.0


@dataclass(frozen=True, kw_only=True)
class Reading(Dataset):
    made: str = "rows"

    def read(self, seed):
        rows = np.zeros((40, 4), np.float32), np.arange(40) % 2
        train = Split(*map(torch.tensor, rows)) if self.made == "tensors" else Split(*rows)
        data = Data(train, Split(*rows), Split(*rows), "classification", ("a", "b"))
        return train if self.made == "split" else replace(data, **self.changed(*rows).get(self.made, {}))

    def changed(self, x, y):
        return {
            "no test": {"test": Split(x[:0], y[:0])},
            "columns": {"test": Split(x[:, :3], y)},
            "lengths": {"train": Split(x, y[1:])},
            "gap": {"validation": Split(np.where(np.arange(4) == 2, np.nan, x), y)},
            "labels": {"train": Split(x, y + 1)},
            "int32": {"train": Split(x, y.astype(np.int32))},
            "words": {"train": Split(x.astype(str), y)},
            "one number": {"task": "regression", "train": Split(x, x[:, 0])},
            "row": {"train": Split(x[:, 0], y)},
            "task": {"task": "clasification"},
            "classes": {"classes": ()},
            "one class": {"classes": ("a",), "train": Split(x, 0 * y)},
            "a number of classes": {"classes": 2},
            "no columns": {"train": Split(x[:, :0], y)},
            "channels first": {"train": Split(np.zeros((40, 3, 8, 8), np.uint8), y)},
            "volumes": {name: Split(x.repeat(16, 1).reshape(40, 1, 4, 4, 4), y) for name in SPLITS},
            "prices": {"task": "regression"} | dict.fromkeys(SPLITS, Split(x + 1, np.float32([[1e20]] * 40))),
            "a mask": {"train": Split(np.ma.masked_array(x), y)},
            "a table of many numbers": {"train": Split(x.astype(np.float64) + 1e200, y)},
            "one label": {"train": Split(x, 0 * y)},
            "a note of a number": {"note": 5},
            "no scale": {"target_scale": 0},
            "no targets": {"task": "regression"} | dict.fromkeys(SPLITS, Split(x, x[:, :0])),
            "other targets": {"task": "regression", "test": Split(x, x)}
            | dict.fromkeys(SPLITS[:2], Split(x, x[:, :1])),
            "foreign bytes": {"task": "regression"} | dict.fromkeys(SPLITS, Split(x, x.astype(">f4"))),
            "other tokens": {"task": "language"} | dict.fromkeys(SPLITS, Split(x, 2 - y[:, None] * [1, 1, 1, 2])),
            "fewer tokens": {"task": "language"} | dict.fromkeys(SPLITS, Split(x, y[:, None] * [1, 0, 1])),
            "prices of numpy": {"task": "regression", "target_scale": np.float64(3)}
            | dict.fromkeys(SPLITS, Split(x, np.float32([[0], [1]] * 20))),
            "key": {}["other"] if self.made == "key" else {},
        }


def volumes(num_classes):
    return nn.Sequential(
        nn.Conv3d(1, 4, 2),
        nn.BatchNorm3d(4),
        nn.ReLU(),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
        nn.Linear(4, num_classes),
    )


@dataclass(frozen=True, kw_only=True)
class Unread(Dataset):
    pass


class Counts(torch.optim.SGD):
    def __init__(self, params, lr=0.1):
        super().__init__(params, lr)
        self.calls = 0

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                kept = self.state[parameter]
                kept["step"], kept["decay"] = kept.get("step", 0) + 1, kept.get("decay", 1.0) * 0.9
                parameter.data.mul_(1 - 0.001 * kept["decay"] / kept["step"])
        return super().step(closure)


class Listing(Counts):
    def step(self, closure=None):
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter].setdefault("losses", []).append(1.0)


class Calling(Counts):
    def step(self, closure=None):
        self.calls += 1


class Grouping(Counts):
    def step(self, closure=None):
        self.param_groups[0]["k"] = self.param_groups[0].get("k", 0) + 1


class Rated(Counts):
    @staticmethod
    def groups_of(model):
        return [{"params": model.parameters(), "lr": 0.5}]


class Betas(torch.optim.Adam):
    @staticmethod
    def groups_of(model):
        return [{"params": model.parameters(), "betas": (0.5, 0.9)}]


class Needing(Counts):
    def step(self, closure):
        closure()


class Waiting(Counts):
    async def step(self, closure=None):
        pass


@dataclass(frozen=True, kw_only=True)
class Awaited(Norm):
    async def normalization(self, num_features):
        return nn.Identity()


class AwaitedNet(nn.Linear):
    async def forward(self, x):
        return super().forward(x)


def awaited(num_classes):
    return AwaitedNet(64, num_classes)


def waiting_optimizer(params, lr):
    return Waiting(params, lr)


class WaitingWithoutGradients(Counts):
    @torch.no_grad()
    async def step(self, closure=None):
        pass


def put_on(params, lr):
    async def step(closure=None):
        pass

    optimizer = torch.optim.SGD(params, lr)
    optimizer.step = step
    return optimizer


def forgotten(num_classes):
    nn.Linear(64, num_classes)


async def a_network(num_classes):
    return nn.Linear(64, num_classes)


def of_another(num_classes):
    return a_network(num_classes)


class OfAnother(nn.Linear):
    def forward(self, x):
        return AwaitedNet.forward(self, x)


def outputs_of_another(num_classes):
    return nn.Sequential(nn.Flatten(), OfAnother(64, num_classes))


@dataclass(frozen=True, kw_only=True)
class HooksOfAnother(Norm):
    def normalization(self, num_features):
        return a_network(num_features)


class Yielding(Counts):
    def step(self, closure=None):
        yield


def several_losses(params, lr):
    return torch.optim.LBFGS(params, lr)


class NoWeight(Init):
    pass


@dataclass(frozen=True, kw_only=True)
class WaitingHook(Norm):
    def step_hook(self, model):
        async def after():
            pass

        return after


def schedule_of_another(step, total):
    return waiting(step, total)


class Empty(Counts):
    def step(self, closure=None):
        return {}["its table"]


@dataclass(frozen=True, kw_only=True)
class Silent(Probe):
    def measure(self, situation):
        [("network", "half", 0.5)]


@dataclass(frozen=True, kw_only=True)
class Reads(Probe):
    value: str = "torch.tensor(0.5)"

    def measure(self, situation):
        return [("network", "half", eval(self.value))]


@dataclass(frozen=True, kw_only=True)
class Careless(Probe):
    def measure(self, situation):
        situation.model(2 * situation.training(8)[0])
        situation.model.eval()
        return [("network", "noise", torch.rand(()))]


def inner(input_shape, num_outputs):
    raise AssertionError("is given neither")


def outer(*args, **kwargs):
    return inner(*args, **kwargs)


def gated():
    raise ValueError("this network cannot be built")


CALLS = []


def tick():
    CALLS.append(1)
    if len(CALLS) > 36 and Path("broken").exists():
        raise SystemExit(3) if Path("broken").read_text() else KeyError("its\\ntable")


def falling(step, total):
    tick()
    return 1.0


class Moving(Counts):
    def step(self, closure=None):
        tick()
        return super().step(closure)


@dataclass(frozen=True, kw_only=True)
class Failing(Probe):
    def measure(self, situation):
        tick()
        return []


class Net(Odd):
    def forward(self, x):
        tick()
        return super().forward(x)


class Layer(nn.Module):
    def forward(self, x):
        tick()
        return x


@dataclass(frozen=True, kw_only=True)
class Scheme(Norm):
    def normalization(self, layer):
        return Layer()


class Start(Init):
    def weight(self, empty, source):
        raise KeyError("fan")


class Filling(Init):
    def weight(self, empty, source):
        empty.zero_()


class Small(Init):
    def weight(self, empty, source):
        return empty.flatten()


class Hooked(Keeping):
    def __init__(self, num_classes, norm):
        super().__init__(num_classes, norm, "")
        self.layer.weight.register_hook(lambda slope: slope[:1])


GAIN = torch.ones(64)
SHARED = nn.Parameter(GAIN.clone())


class Sharing(nn.Module):
    def __init__(self, num_classes, norm, gain):
        super().__init__()
        self.gain, self.layer = eval(gain), nn.Linear(64, num_classes)

    def forward(self, x):
        return self.layer(self.gain * x.flatten(1))


class Hiding(nn.Module):
    def __init__(self, num_classes, norm, hidden):
        super().__init__()
        self.first, self.last = nn.Linear(64, 64), nn.Linear(64, num_classes)
        self.held = eval(hidden)

    def forward(self, x):
        return self.last(self.first(x.flatten(1)))


def named(**given):
    return bare(given["num_outputs"])


def filled(empty, source):
    return nn.init.normal_(empty)


class Blind(Probe):
    def measure(self):
        return []


class Groupless(torch.optim.Optimizer):
    def __init__(self, params, lr):
        self.lr = lr

    def step(self, closure=None):
        pass
"""


@pytest.fixture
def folder(tmp_path, workers_here, monkeypatch):  # test_plugin.py has a worker that is a process
    """A folder of the user's with the documentation's my_parts.py."""
    (tmp_path / "my_parts.py").write_text(re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)[1])
    (tmp_path / "odd_parts.py").write_text(ODD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("normexp.sweeps.workers.physical_cores", lambda: 1)  # one: torch.fx traces in one thread only
    return tmp_path


def commands() -> list[list[str]]:
    """Return the documentation's commands, each as its arguments."""
    block = re.findall(r"```\n(normexp .*?)```", DOCS.read_text(), re.DOTALL)[0]
    return [shlex.split(line)[1:] for line in block.splitlines()]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_own_parts_every_command_of_the_documentation_runs(cli, folder, command):
    words = [word.replace("range(3)", "0") for word in command]
    tiny = [word for word in TINY if word != "--quiet" or command[0] == "run"]
    status, _, stderr = cli(*words, *tiny)
    assert status == 0, stderr


def run_of(cli, *words: str) -> Path:
    status, stdout, stderr = cli("run", *words, MINE, *TINY)
    assert status == 0, stderr
    return Path(stdout.splitlines()[-1])


def test_own_parts_are_recorded_and_given_back(cli, folder):
    import normexp

    run = run_of(cli, "model=my_parts.Net", "model.width=8", "norm=batch")
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert written["model"] == {"_target_": "my_parts.Net", "width": 8}
    network = normexp.load_model(run, plugins=["my_parts"])
    assert type(network).__name__ == "Net"
    assert any("BatchNorm" in type(module).__name__ for module in network.modules())
    with pytest.raises(normexp.UserError, match=r"plugins='my_parts': .*; did you mean plugins=\['my_parts'\]\?$"):
        normexp.load_model(run, plugins="my_parts")
    with pytest.raises(normexp.UserError, match=r"must be named: load_model\(\.\.\., plugins=\['my_parts'\]\)$"):
        normexp.load_model(run)
    with pytest.raises(normexp.UserError, match="nowhere: no such file or folder"):
        normexp.load_model("nowhere")


def test_own_parts_an_optimizer_that_keeps_numbers_is_continued_in_the_same_bytes(cli, folder, monkeypatch):
    words = ["model=linear", "dataset=my_parts.Rings", "optim=odd_parts.Counts", "optim.lr=0.1"]
    whole = run_of(cli, *words, "results_dir=whole")
    save, saved = Checkpointer.save, []

    def mortal(self, *args):
        save(self, *args)
        saved.append(args)
        if len(saved) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpointer, "save", mortal)
    monkeypatch.setattr("normexp.runs.checkpointer.SAVE_INTERVAL", 0.0)
    assert cli("run", *words, "results_dir=killed", MINE, *TINY)[0] == 130
    assert saved[0][0].step == 1
    killed = run_of(cli, *words, "results_dir=killed")
    assert (killed / "checkpoint.safetensors").read_bytes() == (whole / "checkpoint.safetensors").read_bytes()


FAILING = {
    "schedule": ["schedule=odd_parts.falling"],
    "optim": ["optim=odd_parts.Moving", "optim.lr=0.1"],
    "probe": ["probe=odd_parts.Failing"],
    "model": ["model=odd_parts.Net", "model.returns=y"],
    "norm": ["norm=odd_parts.Scheme", "schedule=my_parts.triangle", "model=mlp", "model.widths=[4]"],
}


@pytest.mark.parametrize(
    "group", [pytest.param(each, marks=() if each == "probe" else pytest.mark.slow) for each in FAILING]
)
def test_own_parts_the_one_that_fails_in_the_middle_is_named_and_what_ran_is_kept(cli, folder, undrawn, group):
    part = FAILING[group][0]
    words = ["run", *FAILING[group], MINE, "steps=40", "eval_every=1", *TINY[1:], "results_dir=r"]
    (folder / "broken").touch()
    status, _, stderr = cli(*words)
    told = rf"KeyError: 'its\\ntable', raised by {re.escape(part)} \(odd_parts.py:\d+, in \S+\) at step (\d+)"
    found = re.fullmatch(rf"normexp: failed: ({told}) \(--debug shows the traceback\)\n", stderr)
    assert (status, bool(found)) == (1, True), stderr
    (run,) = find_runs([folder / "r"])
    assert (run.status["status"], run.status["cause"], run.status["step"]) == ("failed", found[1], int(found[2]))
    kept = [int(row["step"]) for row in run.rows("metrics.csv")]
    assert kept == list(range(len(kept)))
    assert len(kept) >= int(found[2]) > 0
    (folder / "broken").unlink()
    assert cli(*words)[0] == 0


@pytest.mark.slow
def test_own_parts_the_one_that_ends_the_program_in_the_middle_is_named(cli, folder, undrawn):
    (folder / "broken").write_text("by sys.exit")
    status, _, stderr = cli("run", *FAILING["probe"], MINE, "steps=40", "eval_every=1", *TINY[1:], "results_dir=r")
    told = r"\(SystemExit: 3\), raised by probe=odd_parts.Failing \(odd_parts.py:\d+, in \S+\) at step \d+"
    found = re.fullmatch(rf"normexp: run: code that it called ended the program {told}\n", stderr)
    assert (status, bool(found)) == (2, True), stderr
    (run,) = find_runs([folder / "r"])
    assert run.status["status"] == "failed"


@pytest.mark.parametrize(("broken", "said"), [("", r"KeyError: 'its\\ntable'"), ("by sys.exit", "SystemExit: 3")])
def test_own_parts_the_one_that_fails_in_a_study_is_named_and_nothing_is_written(cli, folder, broken, said):
    (folder / "broken").write_text(broken)
    words = ["study=train_and_test", "norm=odd_parts.Scheme", "model=mlp", "steps=3", "batch_size=16", MINE]
    status, _, stderr = cli("run", *words, "results_dir=r")
    told = rf"{said}, raised by norm=odd_parts.Scheme \(odd_parts.py:\d+, in \S+\)"
    assert (status, bool(re.fullmatch(rf"normexp: {told}\n", stderr))) == (2, True), stderr
    assert not (folder / "r").exists()


def test_own_parts_the_one_that_fails_in_a_study_of_a_sweep_costs_its_run_alone(cli, folder, workers_here):
    (folder / "broken").touch()
    words = ["study=train_and_test", "norm=odd_parts.Scheme,layer", "model=mlp", "steps=3", "batch_size=16", MINE]
    assert cli("sweep", *words, "results_dir=r", "jobs=1")[0] == 1
    runs = find_runs([folder / "r"])
    assert [(run.status["status"], run.has("config.yaml")) for run in runs] == [("done", True), ("failed", True)]


MEASURED = {
    "torch.tensor(0.5)": "0.5",
    "torch.ones((), requires_grad=True)": "1.0",
    "np.float64(0.5)": "0.5",
    "np.int64(2)": "2.0",
    "2": "2",
    "1 < 2": "1",
}


@pytest.mark.parametrize("value", MEASURED)
def test_own_parts_a_probe_may_measure_numbers_of_any_library(cli, folder, value):
    import normexp

    run = run_of(cli, "model=mlp", "probe=odd_parts.Reads", f"probe.value='{value}'")
    written = {line.rpartition(",")[2] for line in (run / "probes.csv").read_text().splitlines()[1:]}
    assert written == {MEASURED[value]}
    assert not normexp.load(run).left_out


def test_own_parts_a_probe_changes_nothing_of_the_run(cli, folder):
    words = ("model=mlp", "norm=batch", "eval_every=1", "steps=4", *TINY[1:], MINE)
    runs = [Path(cli("run", *words, probe)[1].splitlines()[-1]) for probe in ("probe=none", "probe=odd_parts.Careless")]
    first, second = ((run / "metrics.csv").read_bytes() for run in runs)
    assert first == second


def test_own_parts_a_network_of_complex_numbers_is_trained(cli, folder):
    run_of(cli, "model=odd_parts.Complex")


def test_own_parts_a_scale_of_numpy_is_a_number_in_the_record(cli, folder):
    import normexp

    run = run_of(cli, "dataset=odd_parts.Reading", "dataset.made=prices of numpy", "model=mlp")
    assert not normexp.load(run).left_out


def test_own_parts_a_scheme_that_keeps_a_module_for_the_next_network_is_refused(cli, folder):
    status, _, stderr = cli("run", "norm=odd_parts.Kept", "model=mlp", MINE, *TINY)
    told = "(BatchNorm1d) is of a network built before; make a new one at every call"
    assert (status, len(stderr.splitlines())) == (2, 1)
    assert "model=mlp norm=odd_parts.Kept: " in stderr
    assert told in stderr


def test_own_parts_a_network_that_was_built_already_is_refused(cli, folder):
    status, _, stderr = cli("run", "model=odd_parts.once", MINE, *TINY)
    told = "model=odd_parts.once: returns the network that it returned before; build a new one at every call"
    assert (status, stderr) == (2, f"normexp: {told}\n")


@pytest.mark.parametrize("gain", ["SHARED", "nn.Parameter(GAIN)"])
def test_own_parts_a_parameter_of_a_network_before_is_refused(cli, folder, gain):
    """It would go on with what it learned there: a run of a sweep would have other numbers than by itself."""
    words = ["run", "model=odd_parts.Sharing", f"model.gain='{gain}'", MINE, *TINY]
    status, _, stderr = cli(*words)
    told = "the parameter gain is of a network built before; make it at every call"
    assert (status, stderr) == (2, f"normexp: model=odd_parts.Sharing norm=none: {told}\n")


@pytest.mark.parametrize("held", ["[self.first, self.last.bias]", "[nn.Linear(2, 2).requires_grad_(False)]"])
def test_own_parts_a_network_may_keep_layers_in_a_list_that_it_trains_or_none_does(cli, folder, held):
    run_of(cli, "model=odd_parts.Hiding", f"model.hidden='{held}'")


def test_own_parts_a_network_may_remember_what_its_last_call_was(cli, folder):
    run_of(cli, "model=odd_parts.Keeping", "model.how=nothing")


def test_own_parts_a_record_names_no_code_of_ours_that_its_options_do_not(cli, folder):
    import normexp

    run = run_of(cli, "model=mlp")
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("normexp.models.MLP", "normexp.cli.verbs.main"))
    with pytest.raises(normexp.UserError, match=r"damaged"):
        normexp.load_model(run)


def test_own_parts_a_converted_network_has_the_scheme(cli, folder):
    import normexp

    network = normexp.load_model(run_of(cli, "model=my_parts.plain", "norm=layer"), plugins=["my_parts"])
    kinds = {type(module).__name__ for module in network.modules()}
    assert "BatchNorm2d" not in kinds
    assert type(normexp.norms.LayerNorm().normalization(4)).__name__ in kinds


def test_own_parts_a_network_that_takes_the_softmax_itself_is_told(cli, folder):
    told = "model=odd_parts.Odd: its outputs are probabilities, and the loss takes the softmax itself; leave it out"
    for returns, expected in (("y.softmax(1)", True), ("y.log_softmax(1)", False), ("y", False)):
        status, _, stderr = cli("run", *_odd(returns), "norm=none", MINE, *TINY)
        assert status == 0
        assert (told in stderr) == expected


def test_own_parts_a_text_that_looks_like_a_number_is_given_in_quotes(cli, folder):
    words = ["run", "model=odd_parts.titled", "norm=batch", MINE, *TINY]
    refused = cli(*words, "model.title=2024")[2]
    assert "odd_parts.titled: title=2024: must be str" in refused
    quoted = refused.rpartition("has quotes: ")[2]
    assert cli(*words, *shlex.split(quoted))[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["model=my_parts.plain"], "1 normalization (BatchNorm2d); norm=batch has batch normalization there"),
        (["model=odd_parts.weight_normed"], "2 normalizations (weight_norm); norm=NAME puts that scheme there"),
        (["model=my_parts.plain", "norm=layer"], ""),
        (["model=odd_parts.bare"], ""),
    ],
    ids=["its own", "torch's", "in whose place another is", "none"],
)
def test_own_parts_normalizations_that_no_scheme_takes_out_are_told(cli, folder, words, told):
    status, _, stderr = cli("run", *words, MINE, *TINY)
    assert status == 0
    line = f"{words[0]}: norm=none takes out its {told}"
    assert [each for each in stderr.splitlines() if "takes out" in each] == ([f"normexp: {line}"] if told else [])


@pytest.mark.parametrize("norm", [["norm=batch"], ["norm=group", "norm.num_groups=2"]], ids=" ".join)
def test_own_parts_a_network_of_volumes_is_trained(cli, folder, norm):
    run_of(cli, "dataset=odd_parts.Reading", "dataset.made=volumes", "model=odd_parts.volumes", *norm)


def test_own_parts_targets_on_a_huge_scale_are_the_advice_where_they_diverge(cli, folder):
    words = ("dataset=odd_parts.Reading", "dataset.made=prices", "dataset.standardize_target=false", "model=mlp")
    status, _, stderr = cli("run", *words, MINE, *TINY)
    assert (status, "diverged" in stderr) == (0, True)
    assert "targets are as large as 1e+20: dataset.standardize_target=true makes their deviation 1" in stderr


def test_own_parts_files_count_by_content(cli, folder):
    source = (
        (folder / "my_parts.py")
        .read_text()
        .replace("    count: int = 400", "    count: int = 400\n    table: str = ''")
    )
    (folder / "my_parts.py").write_text(source)
    words = ("dataset=my_parts.Rings", "dataset.table=table.txt", "model=mlp")
    (folder / "table.txt").write_text("one")
    first = run_of(cli, *words)
    (folder / "table.txt").write_text("other")
    assert run_of(cli, *words) != first


def test_own_parts_print_beside_what_a_run_answers(cli, folder):
    source = (folder / "my_parts.py").read_text().replace("def __init__", 'print("imported")\n\n    def __init__', 1)
    (folder / "my_parts.py").write_text(source)
    status, stdout, stderr = cli("run", "model=my_parts.Net", MINE, *TINY, "--quiet")
    assert status == 0
    assert "imported\n" in stderr
    assert (stdout.count("\n"), Path(stdout.strip()).is_dir()) == (1, True)


@pytest.mark.parametrize(("name", "which"), [("copy", "Python's own"), ("yaml", "an installed"), ("torch", None)])
def test_own_parts_hidden_by_an_installed_module_are_said_to_be(cli, folder, name, which):
    if which:
        (folder / "my_parts.py").rename(folder / f"{name}.py")
    status, _, stderr = cli("run", f"model={name}.Nett", f"plugins=[{name}]", *TINY)
    hidden = f"what the current folder has as {name} is hidden by {which} module of that name: give it another"
    assert (status, stderr.count("\n"), hidden in stderr) == (2, 1, which is not None)


def _data(made: str, said: str) -> tuple[list[str], str]:
    return ["dataset=odd_parts.Reading", f"dataset.made='{made}'"], f"odd_parts.Reading: {said}"


def _odd(returns: str) -> list[str]:
    return ["model=odd_parts.Odd", f"model.returns='{returns}'"]


def _hiding(held: str) -> list[str]:
    return ["model=odd_parts.Hiding", f'model.hidden="{held}"']


def _keeping(how: str) -> list[str]:
    return ["model=odd_parts.Keeping", f"model.how={how}"]


MISTAKES = {
    "not named": (["model=my_parts.Net", "plugins=[]"], "model._target_=my_parts.Net: code outside normexp"),
    "a module alone": (["model=my_parts"], "model=my_parts does not exist; allowed: attentive_reader, "),
    "a module without a name": (["model=my_parts"], "did you mean model=my_parts.NAME 'plugins=[my_parts]'?"),
    "a file": (["model=my_parts.py"], "did you mean model=my_parts.NAME 'plugins=[my_parts]'?"),
    "an initialization that returns nothing": (
        ["init=odd_parts.Filling"],
        "init=odd_parts.Filling dataset=digits: Filling.weight returned a NoneType, not a tensor of shape (",
    ),
    "an initialization of another shape": (
        ["init=odd_parts.Small"],
        "init=odd_parts.Small dataset=digits: Small.weight returned a tensor of shape (",
    ),
    "no network": (["model=odd_parts.Nothing"], "odd_parts.Nothing: is no Module (derive it from torch.nn.Module)"),
    "built already": (["model=odd_parts.built"], "odd_parts.built: is a network that is built already; name its class"),
    "not convertible": (
        ["model=odd_parts.rows", "norm=batch"],
        "no place for the scheme; let it take the scheme by a parameter `norm`",
    ),
    "not buildable": (["model=odd_parts.gated"], "this network cannot be built"),
    "parameters without names": (
        ["model=odd_parts.outer"],
        "in outer); only parameters with a name are given a value: write them out in place of *args and **kwargs",
    ),
    "values by a name in **kwargs": (
        ["model=odd_parts.named"],
        "in named); only parameters with a name are given a value: write them out in place of *args and **kwargs",
    ),
    "a file of another folder": (
        ["model=../my_nets/nets.py"],
        "../my_nets/nets.py: code outside normexp must be named: give MODULE.NAME and 'plugins=[MODULE]', of MODULE.py",
    ),
    "layers in a list": (_hiding("[nn.Linear(2, 2)]"), "keeps held[0].weight where torch does not see it: nothing"),
    "weights in a dict": (_hiding("dict(gain=nn.Parameter(GAIN))"), "keeps held['gain'] where torch does not see it"),
    "a tensor for a parameter": (_hiding("GAIN.clone().requires_grad_()"), "keeps held where torch does not see it"),
    "two outputs": (_odd("(y, y)"), "the network returns a tuple, not a tensor of shape (16, 10)"),
    "no output": (_odd("None"), "the network returns a NoneType, not a tensor"),
    "too few outputs": (_odd("y[:, :3]"), "the network's outputs have shape (16, 3), they must have (16, 10)"),
    "fewer in evaluation": (_odd("y if self.training else y[:, :3]"), "have shape (16, 3), they must have (16, 10)"),
    "classes": (_odd("y.long()"), "the network's outputs are torch.int64, and must be real numbers"),
    "complex outputs": (_odd("y + 1j"), "the network's outputs are torch.complex64, and must be real numbers"),
    "nothing trained": (_odd("y.detach()"), "no parameter that is trained has a part in the network's outputs"),
    "an error without words": (_odd("{}[0]"), "KeyError: 0"),
    "a value that none takes": (_odd('int("x")'), "base 10: 'x', raised by model=odd_parts.Odd (odd_parts.py:"),
    "the end of the program": (_odd("sys.exit(0)"), "SystemExit: 0, raised by model=odd_parts.Odd (odd_parts.py:"),
    "one number a row": (
        ["dataset=house_prices", *_odd("y[:, 0]")],
        "the network's outputs have shape (16,), they must have (16, 1)",
    ),
    "no data": (["dataset=odd_parts.Nothing"], "odd_parts.Nothing: is no Dataset"),
    "a split for data": (
        ["dataset=odd_parts.Reading", "dataset.made=split"],
        "odd_parts.Reading: read returned a Split, not a normexp.data.base.Data",
    ),
    "tensors for arrays": (
        ["dataset=odd_parts.Reading", "dataset.made=tensors"],
        "odd_parts.Reading: a Split holds NumPy arrays, not a Tensor",
    ),
    "no read": (["dataset=odd_parts.Unread"], "read failed (NotImplementedError: the class has no `read(self, seed)`"),
    "no test split": _data("no test", "the test split has no example"),
    "other columns": _data("columns", "the test split has examples of shape (3,), the train split of (4,)"),
    "other lengths": _data("lengths", "the train split has 40 examples in x and 39 in y"),
    "a gap": _data("gap", "the validation split has nan in x, in example 0"),
    "labels from 1": _data("labels", "the train split has the label 2; those of its classes are 0 to 1"),
    "short labels": _data("int32", "the train split has y of int32 (40,); labels of a classification are int64 (N,)"),
    "words": _data("words", "the train split has x of type <U32; images are uint8, tables float32"),
    "flat targets": _data("one number", "the train split has y of float32 (40,); targets of a regression are float32"),
    "flat inputs": _data(
        "row", "the train split has x of shape (40,); rows of a table are (N, D), images (N, H, W, C)"
    ),
    "no task": _data("task", "task 'clasification' does not exist; allowed: classification, regression, language; did"),
    "no classes": _data("classes", "a classification has classes, the names in the order of the labels"),
    "one class": _data("one class", "has one class, 'a': nothing to learn"),
    "a number of classes": _data("a number of classes", "a classification has classes, the names in the order of the"),
    "no columns": _data("no columns", "the train split has x of shape (40, 0); rows of a table are (N, D)"),
    "channels first": _data(
        "channels first", "the train split has x of shape (40, 3, 8, 8), channels first; images are (N, H, W, C)"
    ),
    "a mask": (
        ["dataset=odd_parts.Reading", "dataset.made='a mask'"],
        "odd_parts.Reading: a Split holds NumPy arrays, not a MaskedArray",
    ),
    "numbers beyond float32": _data("a table of many numbers", "the train split has 1e+200 in x, in example 0, beyond"),
    "one label": _data("one label", "the train split has the label 0 throughout: nothing to learn"),
    "a note of a number": _data("a note of a number", "note=5 is no text"),
    "no scale": _data("no scale", "target_scale=0: must be a number above 0"),
    "no targets": _data("no targets", "the train split has y of float32 (40, 0); targets of a regression are float32"),
    "other targets": _data("other targets", "the test split has targets of shape (4,), the train split of (1,)"),
    "foreign bytes": _data(
        "foreign bytes", "the train split has y of >f4 (40, 4); targets of a regression are float32"
    ),
    "other tokens": _data("other tokens", "the train split has the label 2; those of its classes are 0 to 1"),
    "fewer tokens": (
        ["dataset=odd_parts.Reading", "dataset.made='fewer tokens'", "model=gpt", "inputs=none"],
        "the network's outputs have shape (16, 4, 2), they must have (16, 3, 2)",
    ),
    "a parameter made late": (
        _keeping("late"),
        "makes its parameter gain when it is first called: nothing would train",
    ),
    "a buffer made late": (_keeping("seen"), "makes its buffer seen when it is first called: no checkpoint could be"),
    "a count of calls": (_keeping("calls"), "remembers calls, which changes with every call; a checkpoint keeps"),
    "a buffer that is not saved": (_keeping("times"), "remembers times, which changes with every call; a checkpoint"),
    "sparse gradients": (_keeping("sparse"), "has sparse gradients in words, and a run's are dense; make it with"),
    "a gradient in evaluation": (_keeping("slope"), "in evaluation, which has no gradients: element 0 of tensors does"),
    "a state of words": (
        ["model=odd_parts.Telling", "model.how=nothing"],
        "remembers _extra_state of type dict; a checkpoint keeps parameters and persistent buffers alone",
    ),
    "a reading that fails": _data("key", "read failed (KeyError: 'other', odd_parts.py:"),
    "crops of rows": (
        ["dataset=odd_parts.Reading", "dataset.crop=2"],
        "dataset.crop and dataset.flip need images (H, W, C), an example has shape (4,)",
    ),
    "data for another network": (["dataset=my_parts.Rings", "model=cnn"], "model=cnn norm=none dataset=my_parts.Rings"),
    "no initialization": (["init=odd_parts.Nothing"], "odd_parts.Nothing: is no Init"),
    "a function for an initialization": (
        ["init=odd_parts.filled"],
        "odd_parts.filled: is no Init, whose weight() takes empty (derive a class from normexp.models.init.base.Init)",
    ),
    "a probe without a situation": (
        ["probe=odd_parts.Blind"],
        "odd_parts.Blind: its measure() must take (self, situation): too many",
    ),
    "no probe": (["probe=odd_parts.Nothing"], "odd_parts.Nothing: is no Probe"),
    "no reading": (
        ["probe=odd_parts.Reads", "probe.value=None"],
        "probe=odd_parts.Reads: measured ('network', 'half', None); a reading is (layer, statistic, number)",
    ),
    "no readings": (["probe=odd_parts.Silent"], "probe=odd_parts.Silent: measured None; it returns a list of (layer,"),
    "no optimizer": (["optim=odd_parts.Nothing", "optim.lr=1"], "odd_parts.Nothing: is no Optimizer"),
    "an optimizer without groups": (
        ["optim=odd_parts.Groupless", "optim.lr=1"],
        "odd_parts.Groupless: has no param_groups; its __init__() must call super().__init__(params, defaults)",
    ),
    "a list in a state": (
        ["optim=odd_parts.Listing", "optim.lr=1"],
        "odd_parts.Listing: remembers self.state[parameter]['losses'] of type list; a checkpoint keeps tensors",
    ),
    "an attribute that counts": (["optim=odd_parts.Calling", "optim.lr=1"], "remembers self.calls; a checkpoint keeps"),
    "a group that counts": (["optim=odd_parts.Grouping", "optim.lr=1"], "remembers self.param_groups[0]['k']; a"),
    "a group with a rate": (
        ["optim=odd_parts.Rated", "optim.lr=1"],
        "odd_parts.Rated: its groups_of gives a group lr=0.5, and every group has optim.lr times the schedule's factor",
    ),
    "a group with betas": (
        ["optim=odd_parts.Betas", "optim.lr=1", "optim.betas=[0.9,0.99]", "schedule=linear_tail", "schedule.beta1=0.5"],
        "odd_parts.Betas: its groups_of gives a group betas=(0.5, 0.9), and schedule.beta1=0.5 is of every group;",
    ),
    "a closure": (["optim=odd_parts.Needing", "optim.lr=1"], "odd_parts.Needing: cannot be made, and step, with what"),
    "an optimizer that fails": (
        ["optim=odd_parts.Empty", "optim.lr=1"],
        "`defaults` say (KeyError: 'its table', odd_parts.py:",
    ),
    "a layer of other rows": (
        ["dataset=odd_parts.Reading", *_odd("self.layers[1](y)")],
        "shapes cannot be multiplied (16x2 and 4x2), raised by model=odd_parts.Odd (odd_parts.py:",
    ),
    "no such optimizer": (["optim=torch.optim.Nope", "optim.lr=1"], "torch.optim.Nope: cannot be imported"),
    "a start that fails": (
        ["init=odd_parts.Start"],
        "model=mlp norm=none init=odd_parts.Start dataset=digits: KeyError: 'fan'",
    ),
    "a word for a truth value": (
        ["optim=torch.optim.NAdam", "optim.lr=1", "optim.decoupled_weight_decay=off"],
        "torch.optim.NAdam: decoupled_weight_decay=off: must be true or false",
    ),
    "half a pair": (["norm=odd_parts.Typed", "norm.pair=[1]"], "pair=[1]: must be tuple[float, float]"),
    "a fraction of layers": (["model=odd_parts.deep", "model.depth=1.5"], "odd_parts.deep: depth=1.5: must be int"),
    "a number for a truth value": (
        ["optim=torch.optim.NAdam", "optim.lr=1", "optim.maximize=1"],
        "torch.optim.NAdam: maximize=1: must be bool",
    ),
    "underscores": (["model=my_parts.Net", "model.width=1_0"], "model.width=1_0: 1_0 is no number"),
    "no schedule": (["schedule=odd_parts.no_schedule"], "odd_parts.no_schedule: is no schedule"),
    "a schedule below 0": (
        ["schedule=odd_parts.rising", "schedule.to='-1'"],
        "returns the factor of the learning rate (-1.0 for the last step)",
    ),
    "a schedule of nothing": (
        ["schedule=odd_parts.rising", "schedule.to='float(\"nan\")'"],
        "returns the factor of the learning rate (nan for the first step)",
    ),
    "a schedule that draws": (["schedule=odd_parts.drawing"], "for the first step, which has one factor)"),
    "a schedule that counts": (
        ["schedule=odd_parts.counting"],
        "for the first step, which has one factor)",
    ),
    "torch's old weight_norm": (
        ["model=odd_parts.OldWeightNorm"],
        "dataset=digits: layer (Linear): its weight was computed by torch.nn.utils.weight_norm, and cannot be copied; "
        "make it with torch.nn.utils.parametrizations.weight_norm",
    ),
    "a tensor that was computed": (
        ["model=odd_parts.Computed"],
        "dataset=digits: the network: its double was computed when it was built, and cannot be copied; compute it in",
    ),
    "a schedule that fails": (
        ["schedule=odd_parts.keyed"],
        "(KeyError: 1, odd_parts.py:173, in keyed)",
    ),
    "an async schedule": (["schedule=odd_parts.waiting"], "odd_parts.waiting: is an `async def`, which is called and"),
    "an async optimizer": (["optim=odd_parts.Waiting", "optim.lr=1"], "odd_parts.Waiting: its step() is an `async"),
    "an async optimizer of a function": (
        ["optim=odd_parts.waiting_optimizer", "optim.lr=1"],
        "odd_parts.Waiting: its step() returns a coroutine, which is never awaited (make its `async def` a plain",
    ),
    "an async optimizer with a decorator": (
        ["optim=odd_parts.WaitingWithoutGradients", "optim.lr=1"],
        "odd_parts.WaitingWithoutGradients: its step() returns a coroutine, which is never awaited",
    ),
    "an optimizer that yields": (
        ["optim=odd_parts.Yielding", "optim.lr=1"],
        "odd_parts.Yielding: its step() returns a generator",
    ),
    "an optimizer of several losses": (
        ["optim=odd_parts.several_losses", "optim.lr=1"],
        "torch.optim.LBFGS: wants several losses for one update, a closure; a run computes one",
    ),
    "an initialization without weights": (
        ["init=odd_parts.NoWeight"],
        "init=odd_parts.NoWeight dataset=digits: the class has no `weight(self, empty, source)` of its own",
    ),
    "an async step hook": (
        ["norm=odd_parts.WaitingHook"],
        "odd_parts.WaitingHook: what its step_hook(model) returns is an `async def`",
    ),
    "an async step that is put on it": (
        ["optim=odd_parts.put_on", "optim.lr=1"],
        "odd_parts.put_on: its step() is an `async def`",
    ),
    "no return": (
        ["model=odd_parts.forgotten"],
        "odd_parts.forgotten: returns a NoneType, and must return a torch.nn.M",
    ),
    "a coroutine for a network": (
        ["model=odd_parts.of_another"],
        "odd_parts.of_another: returns a coroutine, which is",
    ),
    "a coroutine for outputs": (
        ["model=odd_parts.outputs_of_another"],
        "the network returns a coroutine, which is never",
    ),
    "a coroutine for a module": (
        ["norm=odd_parts.HooksOfAnother"],
        "HooksOfAnother.normalization returned a coroutine,",
    ),
    "a coroutine for a factor": (
        ["schedule=odd_parts.schedule_of_another"],
        "odd_parts.schedule_of_another: is no sch",
    ),
    "an async scheme": (["norm=odd_parts.Awaited"], "odd_parts.Awaited: its normalization() is an `async def`"),
    "an async network": (["model=odd_parts.awaited"], "odd_parts.awaited: its forward() is an `async def`"),
    "a schedule that ends": (["schedule=odd_parts.listed"], ", which the last row of the curves asks for"),
    "a schedule of words": (["schedule=odd_parts.words"], "odd_parts.words: is no schedule"),
    "a schedule that refuses": (["schedule=odd_parts.refusing"], "(no step 0, odd_parts.py:177, in refusing)"),
    "a placement that no parameter takes": (
        ["model=my_parts.Net", "placement=post"],
        "placement=post: model=my_parts.Net has no parameter placement, which would take it",
    ),
    "a placement of a network that is converted": (
        ["model=my_parts.plain", "placement=deepnorm"],
        "placement=deepnorm: model=my_parts.plain has no parameters norm and placement, which would take it",
    ),
    "tokens as numbers": (
        ["model=odd_parts.embedding", "dataset=text", "dataset.context=8"],
        "; an example has shape (8,); tokens come as numbers (float32): x.long()",
    ),
    "a gradient of another shape": (["model=odd_parts.Hooked"], "odd_parts.Hooked norm=none dataset=digits: hook "),
    "a study": (["study=odd_parts.Nothing"], "study=odd_parts.Nothing does not exist"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_own_parts_mistakes_are_one_line(cli, folder, case):
    words, said = MISTAKES[case]
    plugins = [] if any(word.startswith("plugins=") for word in words) else [MINE]
    network = [] if any(word.startswith("model=") for word in words) else ["model=mlp"]
    status, stdout, stderr = cli("run", *words, *network, *plugins, *TINY)
    assert status == 2, stdout
    assert said in stderr
    assert len(stderr.splitlines()) == 1
    assert not (folder / "results").exists()
