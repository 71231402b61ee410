"""`like:`: what another experiment says holds, where a file says nothing."""

import pytest

from normexp.config.options import config_dir
from normexp.errors import UserError
from normexp.experiments.load import content, load, names, scales
from normexp.experiments.schema import ExperimentFile
from normexp.experiments.skeleton import write_skeleton

BASE = """
paper: ours
item: none
title: Two rates
about: Two schemes at two rates.
summary: Which one?
common: {dataset: digits, model: mlp, model.widths: [4], steps: 2, eval_every: 2}
arms:
  plain: {norm: none}
  normalized: {norm: batch}
grid: {seed: [0, 1, 2, 3, 4, 5]}
select: {search: {optim.lr: [0.1, 0.2]}, seeds: [100], metric: validation/accuracy}
minutes: {cpu: 3}
scales:
  smoke: {grid: {seed: [0, 1]}, select: {search: {optim.lr: [0.1]}}}
  cpu: {sequential: {looks: [3, 6]}, findings: [It was so.], deviations: [Two steps.]}
table: {metric: test/accuracy}
claims:
  - {text: One is ahead, source: ours, kind: own,
     compare: difference, metric: test/accuracy, of: normalized, than: plain, in: "> 0"}
"""


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(BASE)


def like(tmp_path, text="", base="base.yaml", name="mine"):
    (tmp_path / f"{name}.yaml").write_text(f"like: {base}\n{text}")
    return f"{name}.yaml"


def test_what_a_file_does_not_say_is_the_others(tmp_path):
    mine = load(like(tmp_path, "title: Mine\ncommon: {steps: 4}\narms: {mine: {norm: layer}}"), "cpu")
    assert (mine.name, mine.title, mine.paper) == ("mine", "Mine", "ours")
    assert list(mine.arms) == ["plain", "normalized", "mine"]
    assert (mine.common["steps"], mine.common["dataset"]) == (4, "digits")
    assert mine.select.search == {"optim.lr": [0.1, 0.2]}
    assert mine.deviations == ["Two steps."]


def test_what_is_claimed_and_found_out_is_of_the_other_alone(tmp_path):
    assert load("base.yaml", "cpu").design
    mine = load(like(tmp_path), "cpu")
    assert (mine.claims, mine.findings, mine.summary, mine.design) == ([], [], "", None)
    assert "minutes" not in content("mine.yaml")


def test_null_takes_away_what_the_other_has_and_is_a_value_elsewhere(tmp_path):
    text = "arms: {plain: null}\ncommon: {model.widths: null, clip_norm: null}\nscales: {cpu: {deviations: null}}"
    mine = content(like(tmp_path, text))
    assert list(mine["arms"]) == ["normalized"]
    assert "model.widths" not in mine["common"]
    assert mine["common"]["clip_norm"] is None
    assert mine["scales"]["cpu"] == {}


def test_an_arm_and_an_axis_that_are_taken_away_are_gone_at_every_scale(tmp_path):
    smoke = "smoke: {grid: {seed: [0, 1], batch_size: [8]}, arms: {plain: {optim.momentum: 0.5}},"
    base = BASE.replace("smoke: {grid: {seed: [0, 1]},", smoke).replace("\ngrid: {", "\ngrid: {batch_size: [8, 16], ")
    (tmp_path / "base.yaml").write_text(base)
    mine = load(like(tmp_path, "arms: {plain: null}\ngrid: {batch_size: null}"), "smoke")
    assert (list(mine.arms), mine.grid) == (["normalized"], {"seed": [0, 1]})
    again = "scales: {smoke: {arms: {plain: null}, grid: {batch_size: null}}}"  # as it had to be said
    mine = load(like(tmp_path, f"arms: {{plain: null}}\ngrid: {{batch_size: null}}\n{again}"), "smoke")
    assert (list(mine.arms), mine.grid) == (["normalized"], {"seed": [0, 1]})


def test_a_part_of_the_choice_that_is_taken_away_is_gone_at_every_scale(tmp_path):
    of_all, of_smoke = "{optim.lr: [0.1, 0.2]}", "{optim.lr: [0.1]}"
    base = BASE.replace(of_all, "{optim.lr: [0.1, 0.2], optim.momentum: [0, 0.5]}")
    (tmp_path / "base.yaml").write_text(base.replace(of_smoke, "{optim.lr: [0.1], optim.momentum: [0.5]}"))
    mine = load(like(tmp_path, "select: {search: {optim.momentum: null}}"), "smoke")
    assert mine.select.search == {"optim.lr": [0.1]}


def test_null_over_null_is_a_value_and_takes_away_a_scale_without_anything(tmp_path):
    halved = "halving: {steps: [1, 2], keep: [2]}, search: {optim.lr: [0.1, 0.2, 0.4]}"
    base = BASE.replace("search: {optim.lr: [0.1, 0.2]}", halved).replace("[0.1]}}}", "[0.1]}, halving: null}}")
    (tmp_path / "base.yaml").write_text(base.replace("\n  cpu:", "\n  desk:\n  cpu:"))
    assert load(like(tmp_path, "scales: {smoke: {select: {halving: null}}}"), "smoke").select.halving is None
    assert load(like(tmp_path), "desk").select.halving
    assert scales(like(tmp_path, "scales: {desk: null}")) == ["smoke", "cpu"]


def test_null_takes_away_claims_that_are_never_another_s(tmp_path):
    assert load(like(tmp_path, "claims: null\nscales: {cpu: {findings: null}}"), "cpu").claims == []


def test_null_is_nothing_where_the_other_has_nothing_either(tmp_path):
    mine = load(like(tmp_path, "minutes: null\ndeviations:\nscales: {smoke: {findings: null, common: null}}"), "smoke")
    assert (mine.deviations, mine.findings) == ([], [])
    like(tmp_path, "minutes: null", base="mine.yaml", name="third")
    assert load("third.yaml", "smoke").deviations == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arms: {plian: null}", r"\(mine.yaml:2\): arms.plian: arm 'plian' does not exist; .*did you mean plain\?"),
        ("grid: {sed: null}", r"\(mine.yaml:2\): grid.sed: axis 'sed' does not exist; .*did you mean seed\?"),
        ("refused: {a: null}", r"\(mine.yaml:2\): refused.a: refused arm 'a' does not exist; allowed: nothing"),
    ],
)
def test_nothing_that_null_could_take_away_is_one_line(tmp_path, text, said):
    with pytest.raises(UserError, match=said):
        load(like(tmp_path, text), "cpu")


def test_without_a_choice_no_scale_has_one(tmp_path):
    assert load(like(tmp_path, "select: null\ncommon: {optim.lr: 0.1}"), "smoke").select is None


def test_axes_have_the_order_of_a_file_that_has_them_all(tmp_path):
    mine = load(like(tmp_path, "select: null\ngrid: {optim.lr: [0.1, 0.2], seed: [7, 8]}"), "cpu")
    assert list(mine.grid) == ["optim.lr", "seed"]
    assert list(load(like(tmp_path, "grid: {batch_size: [8, 9]}"), "cpu").grid) == ["seed", "batch_size"]


def test_a_file_is_looked_for_beside_the_one_that_is_like_it(tmp_path, monkeypatch):
    like(tmp_path, "arms: {mine: {norm: layer}}")
    like(tmp_path, "arms: {plain: null}", base="mine.yaml", name="third")
    monkeypatch.chdir("/")
    assert list(load(str(tmp_path / "third.yaml"), "cpu").arms) == ["normalized", "mine"]


def test_one_of_ours_is_named(tmp_path):
    assert "mine" in load(like(tmp_path, "arms: {mine: {norm: layer}}", base="digits_five_schemes"), "cpu").arms


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("digits_five_scheme", "did you mean digits_five_schemes?"),
        ("bse.yaml", "did you mean base.yaml?"),
        ("[base.yaml]", "['base.yaml'] is no name of an experiment"),
        ("mine.yaml", "mine.yaml is like this one itself"),
        ("other.yaml", "mine.yaml is like this one itself"),
    ],
)
def test_what_nothing_can_be_like_is_one_line(tmp_path, base, said):
    like(tmp_path, base="mine.yaml", name="other")
    with pytest.raises(UserError, match=r"\(\S*:1\): like: ") as refused:
        load(like(tmp_path, base=base))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_mistake_has_its_line_in_the_file_that_has_it(tmp_path):
    with pytest.raises(UserError, match=r"mine \(mine.yaml:4\), arm 'mine': norm=layr does not exist"):
        load(like(tmp_path, "title: Mine\narms:\n  mine: {norm: layr}"), "cpu")
    like(tmp_path, base="broken.yaml")
    (tmp_path / "broken.yaml").write_text("arms: [")
    with pytest.raises(UserError, match=r"broken \(\S*broken.yaml:2\): is not YAML"):
        load("mine.yaml", "cpu")


def test_a_mistake_in_what_the_other_says_names_that(tmp_path):
    with pytest.raises(UserError, match=r"mine \(mine.yaml:1, like base.yaml\): select.search.optim.lr: .* axis"):
        load(like(tmp_path, "title: Mine\ngrid: {optim.lr: [0.1, 0.2]}"), "cpu")


def test_a_file_whose_suffix_is_forgotten_is_proposed_from_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    with pytest.raises(UserError, match=r"like: experiment 'base' .* is named whole: base.yaml"):
        load(str(tmp_path / like(tmp_path, base="base")), "cpu")


def test_editors_ask_for_no_key_of_a_file_that_is_like_another():
    schema = ExperimentFile.model_json_schema(by_alias=True)
    assert "required" not in schema
    assert [each["required"][0] for each in schema["anyOf"]] == ["like", "paper"]


def test_the_skeleton_that_is_like_another_runs(cli, workers_here, tmp_path):
    status, stdout, stderr = cli("new", "experiment", "mine", "--like", "base.yaml")
    assert (status, stdout.splitlines()[0]) == (0, "mine.yaml"), stderr
    status, stdout, stderr = cli("reproduce", "mine.yaml", "scale=smoke")
    assert status == 0, stderr
    assert "| mine " in stdout
    claims = (
        (tmp_path / "mine.yaml")
        .read_text()
        .replace("\n# claims:", "\nclaims:")
        .replace("\n#   -", "\n  -")
        .replace("\n#      ", "\n     ")
    )
    (tmp_path / "mine.yaml").write_text(claims)
    assert load("mine.yaml", "cpu").claims[0].of.arm == "mine"


def test_the_skeleton_that_is_like_one_of_ours_is_sound():
    write_skeleton("mine", "digits_five_schemes")
    assert "mine" in load("mine.yaml", "smoke").arms


def test_the_skeleton_adds_an_arm_that_is_not_there(tmp_path):
    write_skeleton("second", like(tmp_path, "arms: {Mine: {norm: layer}}"))
    write_skeleton("third", "second.yaml")
    assert list(load("third.yaml", "cpu").arms) == ["plain", "normalized", "Mine", "mine2", "mine3"]


def test_a_skeleton_like_nothing_is_not_written(cli, tmp_path):
    status, _, stderr = cli("new", "experiment", "mine", "--like", "digits_five_scheme")
    assert (status, "did you mean digits_five_schemes?" in stderr, stderr.count("\n")) == (2, True, 1)
    assert not (tmp_path / "mine.yaml").exists()


def test_ours_that_are_like_another_say_less_than_that():
    files = [path.read_text() for path in (config_dir() / "experiment").glob("which_norm_*.yaml")]
    assert sum(text.startswith("like: which_norm\n") for text in files) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("base", names())
def test_the_skeleton_like_any_of_ours_passes_its_check(base):
    path = write_skeleton("mine", base)
    assert list(load(str(path), scales(base)[0]).arms)[-1] == "mine"
