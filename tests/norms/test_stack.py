"""`norm=stack`: any two schemes from the command line."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import yaml
from one_line import assert_refused
from torch import nn

from normexp.config import compose, options
from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.norms.group import GroupNorm
from normexp.norms.stack import Stack
from normexp.norms.weight_standard import WeightStandardization
from normexp.training.build import build_norm, named_norm

WS_GN = ["norm=stack", "norm.weights=weight_standard", "norm.activations=group", "norm.activations.num_groups=8"]


def test_stack_builds_what_was_named():
    norm = build_norm(compose(WS_GN))
    assert norm == Stack(weights=WeightStandardization(), activations=GroupNorm(num_groups=8))


def test_stack_takes_a_placement_for_the_whole():
    assert build_norm(compose([*WS_GN, "norm.placement=post"])).placement == "post"


@pytest.mark.parametrize("name", [name for name in options("norm") if name != "stack"])
@pytest.mark.parametrize("part", ["weights", "activations"])
def test_stack_takes_every_scheme_as_a_part(part, name):
    norm = build_norm(compose(["norm=stack", f"norm.{part}={name}"]))
    assert getattr(norm, part) == named_norm(name)


@dataclass(frozen=True, kw_only=True)
class OnTokens(Norm):
    """A scheme of somebody's own that has a form on tokens alone."""

    def sequence(self, num_features):
        return nn.Softmax(-1)


def test_stack_does_to_tokens_what_its_parts_do():
    x, rms = torch.randn(2, 3, 4), named_norm("rms")
    for first, second in ((OnTokens(), rms), (rms, OnTokens())):
        found = Stack(weights=first, activations=second).sequence(4)(x)
        assert torch.equal(found, second.sequence(4)(first.sequence(4)(x)))


def test_stack_of_our_own_schemes_makes_rows_of_tokens_once():
    module = Stack(weights=named_norm("batch"), activations=named_norm("rms")).sequence(4)
    assert {name.rpartition(".")[0] for name, _ in module.named_parameters()} == {"module.0", "module.1"}


def test_stack_records_its_parts():
    config = compose(WS_GN)
    assert config.changes == {
        "norm": "stack",
        "norm.weights": "weight_standard",
        "norm.activations": "group",
        "norm.activations.num_groups": 8,
    }
    written = yaml.safe_load(config.to_yaml())["norm"]
    assert written["weights"]["_target_"].endswith("WeightStandardization")
    assert written["activations"]["num_groups"] == 8


def test_stack_arguments_repeat_the_configuration():
    config = compose(WS_GN)
    again = compose(shlex.split(" ".join(config.arguments)))
    assert again == config
    assert again.name == config.name


def test_stack_runs_of_other_parts_are_other_runs():
    parts = [
        [],
        ["norm.weights=weight"],
        ["norm.activations=weight"],
        ["norm.weights=weight", "norm.activations=batch"],
    ]
    assert len({compose(some).name for some in [*(["norm=stack", *some] for some in parts), WS_GN]}) == 5


def test_stack_of_the_usual_parts_is_no_change():
    assert compose(["norm=stack", "norm.weights=none", "norm.activations=none"]) == compose(["norm=stack"])


def test_stack_does_not_remember_earlier_parts():
    compose(WS_GN)
    assert named_norm("stack") == Stack()
    with pytest.raises(UserError, match="does not exist"):
        compose(["norm=stack", "norm.activations.num_groups=8"])


MISTAKES = {
    "part": (["norm.weights=wieght"], "norm.weights=wieght", "did you mean weight?"),
    "key": (["norm.wieghts=weight"], "'norm.wieghts'", "did you mean norm.weights=weight?"),
    "key of a part": (
        ["norm.activations=group", "norm.activations.num_group=8"],
        "num_group'",
        "norm.activations.num_groups=8?",
    ),
    "range": (["norm.activations=group", "norm.activations.num_groups=0"], "num_groups=0", "[1, inf)"),
    "placement of a part": (["norm.activations=batch", "norm.activations.placement=post"], "placement", "not exist"),
    "itself": (["norm.weights=stack"], "norm.weights=stack", "allowed: none, batch"),
    "own code": (
        ["norm.weights._target_=my.Norm", "plugins=[my]"],
        "norm.weights._target_",
        "may be named by GROUP._target_",
    ),
    "one example": (["norm.activations=batch", "batch_size=1"], "batch_size=1", "batch_size=2"),
    "maps": (["norm.activations=instance", "model=mlp"], "needs feature maps", "model=mlp"),
}


@pytest.mark.parametrize(("overrides", "named", "way_out"), MISTAKES.values(), ids=MISTAKES)
def test_stack_refuses_in_one_line(overrides, named, way_out):
    assert_refused(["norm=stack", *overrides], named, way_out)


def test_stack_parts_belong_to_the_stack_alone():
    with pytest.raises(UserError, match=r"norm\.weights"):
        compose(["norm=batch", "norm.weights=weight"])


def test_stack_runs(undrawn, cli, results):
    tiny = ["model=cnn", "model.widths=[8,8]", "steps=2", "batch_size=16", "dataset.subset=64", "threads=1"]
    status, stdout, stderr = cli("run", *WS_GN, *tiny, f"results_dir={results}", "--quiet")
    assert status == 0, stderr
    directory = Path(stdout.strip())
    assert "-stack-" in directory.name
    assert cli("run", *WS_GN, *tiny, f"results_dir={results}")[2].count("done already") == 1
