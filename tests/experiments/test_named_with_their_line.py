"""A mistake in an experiment's YAML is named with its file, line and key."""

import re
from pathlib import Path

import pytest
import yaml
from changed_experiments import SOUND
from one_line import one_line_error

from normexp.cli.verbs import main
from normexp.errors import UserError
from normexp.experiments.load import load


def test_an_error_names_file_line_and_key(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("# my experiment\n" + yaml.safe_dump({**SOUND, "claims": [{**SOUND["claims"][0], "of": "With B"}]}))
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if text.startswith("- compare"))
    with pytest.raises(UserError) as refused:
        load(str(path), "smoke")
    assert str(refused.value).startswith(f"experiment mine ({path}:{line}): claims[0] 'BN is better': arm 'With B'")


MISSPELT = {
    "what is common": ("steps: 6", "steps: five", "plain"),
    "an arm's option": ("norm: batch", "norm: bacth", "batch"),
    "an arm's key": ("norm: batch", "nrom: batch", "batch"),
    "a seed": ("grid: {seed: [0, 1, 2]}", 'grid: {seed: ["0", 1, 2]}', "plain"),
    "what a scale says": ("cpu: {}", "cpu: {common: {steps: 0}}", "plain"),
    "what a scale says of an arm": ("cpu: {}", "cpu: {arms: {batch: {norm.eps: tiny}}}", "batch"),
}


@pytest.mark.parametrize(("right", "wrong", "arm"), MISSPELT.values(), ids=MISSPELT)
def test_a_value_that_no_run_can_have_is_named_with_its_line(tmp_path, right, wrong, arm):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace(right, wrong))
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if wrong in text)
    with one_line_error() as refused:
        load(str(path), "cpu")
    assert str(refused.value).startswith(f"experiment mine ({path}:{line}), arm '{arm}': ")


def test_a_value_that_no_trial_can_have_is_named_with_its_line(tmp_path):
    path = tmp_path / "mine.yaml"
    select = "select: {seeds: [9], metric: validation/accuracy,\n  search: {optim.lr: [0.1, 0]}}\n"
    path.write_text(GOOD.replace("steps: 6", "steps: 6, dataset.validation: 99") + select)
    with one_line_error(rf"experiment mine \({path}:14\), arm 'plain': optim\.lr=0: must be"):
        load(str(path), "cpu")


def test_a_refused_arm_is_named_with_its_line(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD + "refused:\n  odd: {norm: layr}\n")
    with one_line_error(rf"experiment mine \({path}:14\): refused: 'odd': norm=layr does not exist"):
        load(str(path), "cpu")


@pytest.mark.parametrize(("name", "scale"), [("ioffe2015_figure", "cpu"), ("ioffe2015_figure1", "papr")])
def test_experiment_that_does_not_exist_is_named_with_the_nearest(name, scale):
    with pytest.raises(UserError, match=r"did you mean (ioffe2015_figure1|paper)\?"):
        load(name, scale)


BAD = {
    "a family that cannot decide": ("claims:", "3 seeds cannot decide 1 claims"),
    "a target outside the metric's range": ("- {metric: test/accuracy, target: 90}", "90 is outside the range"),
    "a margin without a published value": ("margin: 0.01", "there is no published number to be near to"),
    "a published string that is no number": ("value: about two", "published number 'about two' is not a number"),
    "half a range": ("limits: {cpu: {y: [1]}}", "limits.cpu.y[1]: is missing"),
    "a key given twice": ("title: again", "the key 'title' is given twice"),
}
GOOD = """\
paper: mine
item: a table
title: A comparison
about: Two networks.
common: {dataset: digits, model: mlp, steps: 6}
arms:
  plain: {norm: none}
  batch: {norm: batch}
grid: {seed: [0, 1, 2]}
scales: {cpu: {}}
table:
  columns: [test/accuracy]
"""
FAMILY = """\
claims:
  - {text: BN is faster, source: mine, compare: steps, metric: test/accuracy, target: 0.9,
     of: batch, than: plain, in: "> 1"}
"""
FIGURE = """\
figures:
  - name: curves
    kind: curves
    metric: train/loss
    caption: The loss.
    limits: {cpu: {y: [1]}}
"""
PUBLISHED = """\
published:
  - arm: plain
    metric: test/accuracy
    at: last
    place: page 1
    value: about two
"""


def bad_yaml(kind: str) -> str:
    if kind == "a target outside the metric's range":
        return GOOD.replace("[test/accuracy]", "\n    - {metric: test/accuracy, target: 90}")
    added = {
        "a family that cannot decide": FAMILY,
        "a margin without a published value": "  margin: 0.01\n",
        "a published string that is no number": PUBLISHED,
        "half a range": FIGURE,
        "a key given twice": "title: again\n",
    }
    return GOOD + added[kind]


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_of_a_user_is_one_line_with_its_place(tmp_path, monkeypatch, capsys, kind):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(GOOD)
    load("mine.yaml")  # sound as it stands
    Path("mine.yaml").write_text(bad_yaml(kind))
    place, message = BAD[kind]
    line = max(i for i, text in enumerate(bad_yaml(kind).splitlines(), 1) if place in text)
    assert main(["reproduce", "mine.yaml", "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "mine.yaml" in said
    assert re.search(rf"(mine\.yaml:|line ){line}\b", said), said
    assert message in said
