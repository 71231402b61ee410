"""A scheme in a file of the user's own, in the folder where the user is: docs/own_scheme.md, end to end."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from normexp.norms.own.contract import OLD_HOOKS

DOCS = Path(__file__).parents[1] / "docs" / "own_scheme.md"
TINY = ["model=mlp", "model.widths=[6]", "steps=2", "batch_size=16", "dataset.subset=64", "threads=1", "--quiet"]
PLUGIN = ["norm._target_=my_norms.Scale", "plugins=[my_norms]"]


def code() -> str:
    """Return the file that the documentation shows."""
    return re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)[1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of the user's with my_norms.py, which tells by a file that it was imported."""
    (tmp_path / "my_norms.py").write_text(code() + "\nopen('imported', 'a').close()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_plugin_of_the_documentation_is_short():
    lines = [line for line in code().splitlines() if line.strip() and not line.startswith(("import", "from"))]
    assert len(lines) <= 10


def test_plugin_runs_where_the_user_is_and_hides_no_installed_module(folder, cli, monkeypatch):
    """The current folder, which the installed command does not have on its path, comes last."""
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    (folder / "colorsys.py").write_text("raise RuntimeError('wrong module')\n")
    (folder / "my_norms.py").write_text("import colorsys\n" + (folder / "my_norms.py").read_text())
    status, stdout, stderr = cli("run", *PLUGIN, "norm.start=0.5", *TINY)
    assert status == 0, stderr
    assert (folder / "imported").exists()
    directory = folder / stdout.strip()
    assert "my_norms.Scale" in directory.name
    written = yaml.safe_load((directory / "config.yaml").read_text())
    assert written["norm"] == {"start": 0.5, "_target_": "my_norms.Scale"}
    assert written["_choices_"]["norm"] == "my_norms.Scale"


def test_plugin_gets_its_keys(folder, monkeypatch):
    from normexp.config import compose
    from normexp.training.build import build_norm

    assert build_norm(compose([*PLUGIN, "norm.start=0.5"])).start == 0.5
    assert build_norm(compose(PLUGIN)).start == 1.0


@pytest.mark.parametrize(("old", "new"), OLD_HOOKS.items(), ids=OLD_HOOKS)
def test_plugin_written_against_an_old_hook_is_told_the_new_name(folder, cli, old, new):
    scheme = f"class Old(Norm):\n    def {old}(self, given):\n        return given\n"
    (folder / "my_norms.py").write_text(f"from normexp.norms.base import Norm\n\n\n{scheme}")
    status, _, stderr = cli("run", "norm._target_=my_norms.Old", "plugins=[my_norms]", *TINY)
    assert (status, stderr.count("\n")) == (2, 1)
    assert f"my_norms.Old: the hook {old}() of a scheme is now called {new}()" in stderr


def test_plugin_with_a_method_in_place_of_a_property_is_told_how_to_make_it_one(folder, cli):
    scheme = "class Method(Norm):\n    def cancels_bias(self):\n        return False\n"
    (folder / "my_norms.py").write_text(f"from normexp.norms.base import Norm\n\n\n{scheme}")
    status, _, stderr = cli("run", "norm=my_norms.Method", "plugins=[my_norms]", *TINY)
    assert (status, stderr.count("\n")) == (2, 1)
    assert stderr.endswith("my_norms.Method: cancels_bias is a property; write @property above it\n")


@pytest.mark.parametrize(
    ("hook", "said"), [("normalize", "did you mean normalization()?"), ("forward", "step_hook, block")]
)
def test_plugin_that_replaces_no_hook_is_refused_for_it_would_do_nothing(folder, cli, hook, said):
    scheme = f"class Misspelled(Norm):\n    def {hook}(self, given):\n        return given\n"
    (folder / "my_norms.py").write_text(f"from normexp.norms.base import Norm\n\n\n{scheme}")
    status, _, stderr = cli("run", "norm._target_=my_norms.Misspelled", "plugins=[my_norms]", *TINY)
    assert (status, stderr.count("\n")) == (2, 1)
    assert stderr.startswith("normexp: my_norms.Misspelled: replaces no hook of a scheme, so that it would do ")
    assert stderr.endswith(f"{said}\n")
    assert not (folder / "results").exists()


ODD = """
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from normexp.norms.base import Norm
from normexp.norms.options import positive

VECTOR = torch.ones(2)


@dataclass(frozen=True, kw_only=True)
class Ruled(Norm):
    start: float = positive(1.0)

    def __post_init__(self):
        if self.start == 2:
            raise ValueError("no two\\nat all")

    def normalization(self, num_features):
        if num_features == 5:
            raise ValueError("no five\\nat all")
        return nn.Identity()


class ByHand(Norm):
    def __init__(self, start=1.0):
        self.start = start

    def normalize(self, num_features):
        return nn.Identity()


@dataclass(frozen=True, kw_only=True)
class RuledMisspelled(Norm):
    def __post_init__(self):
        pass

    def normalize(self, num_features):
        return nn.Identity()


@dataclass(frozen=True, kw_only=True)
class WithoutModel(Norm):
    def step_hook(self):
        return None


@dataclass(frozen=True, kw_only=True)
class Returns(Norm):
    penalized: str = "None"
    after: str = "None"

    def penalty(self, model):
        return eval(self.penalized)

    def step_hook(self, model):
        return eval(self.after)


@dataclass(frozen=True, kw_only=True)
class Forgets(Norm):
    hook: str = "normalization"

    def normalization(self, num_features):
        return None if self.hook == "normalization" else nn.Identity()

    def parametrize(self, layer):
        return None if self.hook == "parametrize" else layer

    def nonlinearity(self, fn):
        return fn.forward if self.hook == "nonlinearity" else fn


class Counting(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x


@dataclass(frozen=True, kw_only=True)
class Counts(Norm):
    def normalization(self, num_features):
        return Counting()


class Estimate(nn.Module):
    def __init__(self, width, how):
        super().__init__()
        mean = torch.zeros(width)
        self.how, self.seen, self.noise = how, deque([mean], maxlen=1), np.random.default_rng(0)
        self.register_buffer("kept", mean)
        self.register_buffer("hidden", mean.clone(), persistent=False)
        self.mean = mean.clone()

    def forward(self, x):
        now, self.last = x.detach().mean(0), x
        if self.how == "plain":
            self.mean = 0.9 * self.mean + 0.1 * now
        if self.how == "hidden":
            self.hidden.lerp_(now, 0.1)
        if self.how == "kept":
            self.kept.lerp_(now, 0.1)
        if self.how == "queue":
            self.seen.append(self.seen[0] + now)
        return x - self.kept + (self.noise.normal() if self.how == "noise" else 0)


@dataclass(frozen=True, kw_only=True)
class Estimates(Norm):
    how: str

    def normalization(self, num_features):
        return Estimate(num_features, self.how)

    def penalty(self, model):
        return sum(module.last.square().mean() for module in model.modules() if isinstance(module, Estimate))


class Undecorated(Norm):
    start: float = 1.0

    def normalization(self, num_features):
        return nn.Identity()


@dataclass(frozen=True, kw_only=True)
class CountsSteps(Norm):
    def step_hook(self, model):
        count = 0

        @torch.no_grad()
        def hook():
            nonlocal count
            count += 1

        return hook


@dataclass(frozen=True, kw_only=True)
class Raises(Norm):
    def step_hook(self, model):
        return lambda: model.weight.clampp_(-1, 1)


class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(width + 1))

    def forward(self, x):
        return x + self.shift


@dataclass(frozen=True, kw_only=True)
class Widened(Norm):
    def normalization(self, num_features):
        return Wide(num_features)


@dataclass(frozen=True, kw_only=True)
class Starts(Norm):
    adds: bool = False

    def initialize(self, model, batch):
        layer = next(each for each in model.modules() if isinstance(each, nn.Linear))
        setattr(layer, "gain" if self.adds else "bias", nn.Parameter(torch.ones(layer.out_features)))


@dataclass(frozen=True, kw_only=True)
class Assigns(Norm):
    def normalization(self, num_features):
        self.width = num_features
        return nn.Identity()


class Lazy(Norm):
    def normalization(self, num_features):
        return nn.LazyBatchNorm1d()


def layered(num_features):
    return nn.LayerNorm(num_features)
"""

REMEMBERS = "model=mlp norm=my_norms.Estimates dataset=digits: remembers"
MISTAKES = {
    "option": ("Ruled norm.start=-1", "norm=my_norms.Ruled: start must be above 0, not -1"),
    "placement": (
        "Ruled norm.placement=before",
        "norm=my_norms.Ruled: placement must be 'pre' or 'post', not 'before'",
    ),
    "rule": ("Ruled norm.start=2", "norm=my_norms.Ruled: no two"),
    "hook": ("Ruled model.widths=[5]", "norm=my_norms.Ruled: no five"),
    "misspelled": ("RuledMisspelled", "my_norms.RuledMisspelled: replaces no hook of a scheme"),
    "misspelled by hand": ("ByHand", "my_norms.ByHand: replaces no hook of a scheme"),
    "signature": ("WithoutModel", "my_norms.WithoutModel: its step_hook() must take (self, model): too many"),
    "text": (
        "Returns norm.penalized=nn.__name__",
        "my_norms.Returns: its penalty(model) returns str, and must return a scalar",
    ),
    "vector": ("Returns norm.penalized=VECTOR", "my_norms.Returns: its penalty(model) returns shape (2,), and"),
    "no function": (
        "Returns norm.after=nn.__name__",
        "my_norms.Returns: its step_hook(model) returns str, and must return a",
    ),
    "no module": ("Forgets", "norm=my_norms.Forgets: Forgets.normalization returned a NoneType, not a torch.nn.Mod"),
    "no layer": ("Forgets norm.hook=parametrize", "norm=my_norms.Forgets: Forgets.parametrize returned a NoneType"),
    "no nonlinearity": ("Forgets norm.hook=nonlinearity", "norm=my_norms.Forgets: Forgets.nonlinearity returned a met"),
    "a count": (
        "Counts",
        "model=mlp norm=my_norms.Counts dataset=digits: remembers hidden.0.1.calls, which changes with",
    ),
    "an attribute that estimates": ("Estimates norm.how=plain", f"{REMEMBERS} hidden.0.1.mean, which changes with"),
    "a buffer that is not saved": ("Estimates norm.how=hidden", f"{REMEMBERS} hidden.0.1.hidden, which changes with"),
    "a queue": ("Estimates norm.how=queue", f"{REMEMBERS} hidden.0.1.seen[0], which changes with"),
    "a generator of its own": (
        "Estimates norm.how=noise",
        "model=mlp norm=my_norms.Estimates dataset=digits: continued from a checkpoint it has other outputs or buffers",
    ),
    "a count of steps": (
        "CountsSteps",
        "my_norms.CountsSteps: what its step_hook(model) returns remembers count from call to call; a checkpoint keeps",
    ),
    "no @dataclass": (
        "Undecorated norm.start=2",
        "my_norms.Undecorated: key 'start' is annotated, and no parameter of the class; write @dataclass(frozen=True, "
        "kw_only=True) above the class",
    ),
    "another parameter": (
        "Starts",
        "initialization from data replaces the parameter hidden.0.0.bias, which the optimizer",
    ),
    "one more parameter": (
        "Starts norm.adds=true",
        "initialization from data adds the parameter hidden.0.0.gain, which",
    ),
    "a function": (
        "layered",
        "my_norms.layered: is no Norm, whose normalization() takes num_features (derive a class from ",
    ),
    "lazy layers": ("Lazy", "model=mlp norm=my_norms.Lazy: has lazy layers, which have no weights yet; pass a batch"),
    "function of one": ("Returns norm.after=self.penalty", "my_norms.Returns: its step_hook(model) returns method"),
}


@pytest.mark.parametrize(("words", "said"), MISTAKES.values(), ids=MISTAKES)
def test_plugin_with_a_mistake_is_named_in_one_line_and_leaves_nothing(folder, cli, words, said):
    (folder / "my_norms.py").write_text(ODD)
    name, *more = words.split()
    tiny = [word for word in TINY if "widths" not in word or name != "Ruled"]
    status, _, stderr = cli("run", *tiny, f"norm=my_norms.{name}", "plugins=[my_norms]", *more)
    assert (status, stderr.count("\n")) == (2, 1), stderr
    assert stderr.startswith(f"normexp: {said}")
    assert not [*folder.glob("results/runs/*")]


RAISING = {
    "return lambda: model.weight.clampp_(-1, 1)": (
        "Raises",
        "AttributeError: 'MLP' object has no attribute 'weight', "
        "raised by norm=my_norms.Raises (my_norms.py:{line}, in Raises.step_hook)",
    ),
    "self.width = num_features": (
        "Assigns",
        "model=mlp norm=my_norms.Assigns dataset=digits: FrozenInstanceError: cannot assign to field 'width', "
        "raised by norm=my_norms.Assigns (my_norms.py:{line}, in Assigns.normalization)",
    ),
    "return x + self.shift": (
        "Widened",
        "model=mlp norm=my_norms.Widened dataset=digits: The size of tensor a (6) must match the size of tensor b (7) "
        "at non-singleton dimension 1, raised by norm=my_norms.Widened (my_norms.py:{line}, in Wide.forward); "
        "an example has shape (1, 8, 8)",
    ),
}


@pytest.mark.parametrize(("code", "scheme", "said"), [(code, *rest) for code, rest in RAISING.items()])
def test_plugin_that_raises_is_named_with_function_and_line_and_leaves_nothing(folder, cli, code, scheme, said):
    (folder / "my_norms.py").write_text(ODD)
    status, _, stderr = cli("run", *TINY, f"norm=my_norms.{scheme}", "plugins=[my_norms]")
    line = 1 + [each.strip() for each in ODD.splitlines()].index(code)
    assert (status, stderr) == (2, f"normexp: {said.format(line=line)}\n")
    assert not [*folder.glob("results/runs/*")]


def test_plugin_may_keep_buffers_and_what_its_last_call_was(folder, cli):
    (folder / "my_norms.py").write_text(ODD)
    words = ["norm=my_norms.Estimates", "norm.how=kept", "plugins=[my_norms]"]
    status, _, stderr = cli("run", *words, *TINY)
    assert status == 0, stderr


def test_plugin_of_a_cell_is_told_to_be_put_into_a_file(folder, cli):
    status, _, stderr = cli("run", "norm=__main__.Mine", "plugins=[__main__]", *TINY)
    assert (status, stderr.count("\n")) == (2, 1)
    assert "has no attribute 'Mine'); put it into a file" in stderr


def test_plugin_with_rules_of_its_own_is_checked_in_a_stack_and_from_python(folder, cli):
    (folder / "my_norms.py").write_text(ODD)
    own = ["norm=stack", "norm.weights=weight", "norm.activations=my_norms.Ruled", "plugins=[my_norms]"]
    status, _, stderr = cli("run", *own, "norm.activations.start=2", *TINY)
    assert (status, stderr) == (2, "normexp: norm.activations=my_norms.Ruled: no two\n")
    from my_norms import Ruled

    with pytest.raises(ValueError, match="start must be above 0, not -1"):
        Ruled(start=-1)


def test_plugin_that_is_not_named_is_not_imported(folder, cli):
    cli("run", "norm._target_=my_norms.Scale", *TINY)
    assert not (folder / "imported").exists()


def test_plugin_in_a_record_is_never_imported(folder, cli):
    assert cli("run", *PLUGIN, *TINY)[0] == 0
    (folder / "imported").unlink()
    del sys.modules["my_norms"]
    for command in (["table", "results"], ["plot", "results"], ["run", *PLUGIN, *TINY]):  # the run is finished
        assert cli(*command)[0] == 0
        assert not (folder / "imported").exists()
        assert "my_norms" not in sys.modules


def test_plugin_works_inside_the_contracts_of_composition(folder):
    from normexp.config import compose

    compose(PLUGIN)
    from normexp.errors import UserError

    with pytest.raises(UserError, match=r"norm\.eps=-1"):
        compose(["norm=batch", "norm.eps=-1"])  # the plugin's freedom ends with its configuration


def test_plugin_by_name_is_the_plugin_by_target(folder):
    from normexp.config import compose

    assert compose(["norm=my_norms.Scale", "plugins=[my_norms]", "norm.start=0.5"]) == compose(
        [*PLUGIN, "norm.start=0.5"]
    )


@pytest.mark.slow
def test_plugin_beside_a_built_in_scheme_in_one_sweep(folder, cli):
    """The sweep's worker is a process of its own."""
    sweep = ["sweep", "norm=batch,my_norms.Scale", "plugins=[my_norms]", *TINY[:-1], "results_dir=r", "--jobs", "1"]
    status, _, stderr = cli(*sweep)
    assert status == 0, stderr
    written = [yaml.safe_load(path.read_text()) for path in (folder / "r").rglob("config.yaml")]
    assert sorted(each["_choices_"]["norm"] for each in written) == ["batch", "my_norms.Scale"]
    status, _, stderr = cli("sweep", "norm=batch,layer", *PLUGIN, *TINY[:-1], "results_dir=r2", "--jobs", "1")
    assert status == 2
    assert "give one of the two" in stderr
    assert not (folder / "r2").exists()


def test_plugin_in_a_stack(folder, cli):
    from normexp.config import compose
    from normexp.training.build import build_norm

    own = ["norm=stack", "norm.weights=weight", "norm.activations=my_norms.Scale", "plugins=[my_norms]"]
    stack = build_norm(compose([*own, "norm.activations.start=0.25"]))
    assert stack.activations.start == 0.25
    assert type(stack.weights).__name__ == "WeightNorm"
    status, _, stderr = cli("run", *own, *TINY)
    assert status == 0, stderr
    status, _, stderr = cli("run", *own, "norm.activations.strat=1", *TINY)
    assert status == 2
    assert "'strat'" in stderr
    status, _, stderr = cli("run", *own[:-1], *TINY)
    told = "code outside normexp must be named: add 'plugins=[my_norms]'"
    assert (status, stderr) == (2, f"normexp: norm.activations=my_norms.Scale: {told}\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Scale", "norm.activations=my_norms.Scale"),
        ("my_norms:Scale", "norm.activations=my_norms.Scale 'plugins=[my_norms]'"),
        ("my_norms", "norm.activations=my_norms.NAME 'plugins=[my_norms]'"),
    ],
)
def test_plugin_in_a_stack_that_is_named_otherwise_is_told_how(folder, cli, typed, meant):
    words = ["norm=stack", "norm.weights=weight", f"norm.activations={typed}", "plugins=[my_norms]"]
    status, _, stderr = cli("run", *words, *TINY)
    assert (status, stderr.count("\n")) == (2, 1)
    assert stderr.startswith(f"normexp: norm.activations={typed} does not exist; allowed: none, batch, ")
    assert stderr.endswith(f"; did you mean {meant}?\n")


def test_an_error_in_a_file_that_a_plugin_imports_is_placed_there(folder, cli):
    (folder / "beside.py").write_text("import torch\n\ntorch.zeros(2).reshape(3)\n")
    (folder / "mine.py").write_text("\nimport beside\n")
    status, _, stderr = cli("run", "norm=mine.Scale", "plugins=[mine]", *TINY)
    assert (status, stderr.count("\n")) == (2, 1)
    assert "RuntimeError: " in stderr
    assert stderr.endswith(", beside.py:3)\n")


@pytest.mark.slow
def test_code_that_was_edited_is_said_beside_what_it_trained_before(folder, cli):
    """A run is known by its configuration, so that two schemes would stand under one name without a word."""
    from normexp.sweeps.plan import make_plan

    given = ["norm=my_norms.Scale", "plugins=[my_norms]", *TINY[:-1]]
    assert cli("run", *given, "seed=0")[0] == 0
    assert "done already (step 2); --force" in cli("run", *given, "seed=0")[2]
    with (folder / "my_norms.py").open("a") as file:
        file.write("# edited\n")
    assert "step 2), with another my_norms than there is now; --force" in cli("run", *given, "seed=0")[2]
    plan = make_plan([*given, "seed=0,1"])
    assert "1 finished (1 with another my_norms than there is now; --force trains all again), 1 new" in plan.describe()
    assert cli("run", *given, "seed=1")[0] == 0
    assert "Warning: my_norms was edited between these runs" in cli("table", "results/runs")[1]


def test_own_code_that_a_damaged_record_would_tell_stops_no_run(folder, cli):
    given = ["norm=my_norms.Scale", "plugins=[my_norms]", *TINY]
    assert cli("run", *given)[0] == 0
    record = next(folder.rglob("environment.json"))
    status = record.with_name("status.json")
    status.write_text('{"status": "interrupted", "step": 2}')
    record.write_text("{")
    assert cli("run", *given)[0] == 0
    assert json.loads(status.read_text())["status"] == "done"


def test_code_that_a_part_imports_is_its_code_as_well(folder, cli):
    package = folder / "scaling"
    (package / "below").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "below" / "__init__.py").touch()
    (package / "below" / "constants.py").write_text("START = 1.0\n")
    imports = "import numpy, colorsys\nfrom .below import constants\nfrom shift import OFFSET\n"
    (package / "scale.py").write_text(imports + code())
    (folder / "shift.py").write_text("OFFSET = 0.0\n")
    (folder / "colorsys.py").touch()  # hides no installed module, so that nobody imports it
    given = ["norm=scaling.scale.Scale", "plugins=[scaling.scale]", *TINY]
    assert cli("run", *given)[0] == 0
    recorded = json.loads(next(folder.rglob("environment.json")).read_text())["own_code"]
    assert {*recorded} == {"scaling", "scaling.below", "scaling.below.constants", "scaling.scale", "shift"}
    (package / "below" / "constants.py").write_text("START = 2.0\n")
    assert "with another scaling.below.constants than there is now; --force" in cli("run", *given)[2]
