"""An experiment of one's own: the skeleton passes its check, runs from any folder, and never mixes with ours."""

import json
import shlex
from pathlib import Path

import pytest

import normexp
from normexp.config.options import load_yaml
from normexp.experiments.command import command
from normexp.experiments.experiment import Experiment
from normexp.experiments.load import load, names, read
from normexp.records import find_runs
from normexp.records.archive import open_archive
from normexp.records.portable import without_folders
from normexp.records.run import MOST_BYTES

TOP = Path(__file__).parents[2]
ARCHIVES = sorted((TOP / "results").glob("*/**/records*.zip"))


@pytest.fixture(autouse=True)
def _elsewhere(workers_here, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_the_skeleton_passes_its_check_and_runs(cli, tmp_path):
    status, stdout, _ = cli("new", "experiment", "mine")
    assert (status, stdout.splitlines()[0]) == (0, "mine.yaml")
    assert load("mine.yaml", "cpu").claims[0].of.arm == "batch"
    status, stdout, stderr = cli("reproduce", "mine.yaml", "scale=smoke")
    assert status == 0, stderr
    assert "| batch |" in stdout
    assert (tmp_path / "results" / "mine" / "smoke" / "frozen.json").exists()
    assert "`normexp reproduce mine.yaml scale=smoke`" in (tmp_path / "results/mine/smoke/table.md").read_text()
    status, stdout, _ = cli("report", "mine.yaml")
    assert status == 0
    assert "results/mine/smoke/table.md" in stdout
    status, stdout, _ = cli("claims", "mine.yaml")
    assert (status, "**preview**: Batch normalization ends with" in stdout) == (0, True)
    assert "| mine | smoke | " in cli("claims")[1]
    status, stdout, _ = cli("report", "mine.yaml", "--out", "paper", "--format", "svg")
    assert (status, "paper/mine/smoke/accuracy.svg" in stdout) == (0, True)


@pytest.mark.slow
def test_a_claim_moves_no_cursor(cli, tmp_path):
    cli("new", "experiment", "mine")
    path = tmp_path / "mine.yaml"
    path.write_text(path.read_text().replace("text: Batch normalization ends with a", r'text: "\e[2JIt is', 1))
    path.write_text(path.read_text().replace("than no normalization\n", 'than none"\n', 1))
    _, stdout, _ = cli("reproduce", "mine.yaml", "scale=smoke")
    assert r"\x1b[2JIt is" in stdout
    assert "\x1b" not in stdout


OWN = """
paper: ours
item: none
title: One rate, or another
about: Two schemes at two rates.
common: {dataset: digits, model: mlp, model.widths: [4], steps: 2, eval_every: 2}
arms:
  "plain, as it comes": {norm: none}
  Normalized: {norm: batch}
grid: {optim.lr: [0.5, 0.125], seed: [2, 10]}
scales: {cpu: {}}
table: {metric: test/accuracy}
"""


def test_its_records_have_the_names_of_its_arms_in_every_report(cli, tmp_path):
    (tmp_path / "mine.yaml").write_text(OWN)
    assert cli("reproduce", "mine.yaml")[0] == 0
    runs = normexp.load("results").where(arm="plain, as it comes").runs
    assert list(runs[["experiment", "optim.lr", "seed"]].itertuples(index=False, name=None)) == [
        ("mine", 0.5, 2), ("mine", 0.5, 10), ("mine", 0.125, 2), ("mine", 0.125, 10)
    ]  # fmt: skip
    _, stdout, _ = cli("table", "results/mine", "arm=Normalized")
    assert ("| 0.125    | Normalized |" in stdout, "plain" in stdout) == (True, False)


def test_records_of_ones_own_are_found_without_their_file(cli, tmp_path):
    """By default and by the folder's name; a report needs the file, and says so."""
    (tmp_path / "mine.yaml").write_text(OWN)
    assert cli("reproduce", "mine.yaml")[0] == 0
    (tmp_path / "mine.yaml").unlink()
    named = "normexp: mine: is an experiment of your own; name its file, as in `normexp report mine.yaml`\n"
    assert [cli("report")[::2], cli("report", "mine")[::2]] == [(2, named)] * 2
    assert cli("archive")[0] == 0
    assert (tmp_path / "results" / "mine" / "cpu" / "records.zip").exists()


@pytest.mark.parametrize("verb", ["reproduce", "report", "freeze"])
@pytest.mark.parametrize(
    ("stem", "said"),
    [("..", "'..' is none"), (".", "'.' is none"), ("a" * 201, "201 bytes"), ("Zhang2017", "is one of ours")],
)
def test_a_file_whose_name_is_none_for_a_folder_of_results_is_refused(cli, tmp_path, verb, stem, said):
    (tmp_path / f"{stem}.yaml").write_text(OWN)
    status, _, stderr = cli(verb, f"{stem}.yaml")
    assert (status, said in stderr, "rename" in stderr, stderr.count("\n")) == (2, True, True, 1)
    assert [path.name for path in tmp_path.iterdir()] == [f"{stem}.yaml"]


@pytest.mark.parametrize(("name", "said"), [("a" * 201, "201 bytes"), ("Zhang2017", "is one of ours")])
def test_no_skeleton_is_written_that_could_not_be_run(cli, tmp_path, name, said):
    status, _, stderr = cli("new", "experiment", name)
    assert (status, said in stderr, stderr.count("\n"), list(tmp_path.iterdir())) == (2, True, 1, [])


@pytest.mark.parametrize("verb", ["report", "claims", "archive"])
def test_a_file_that_is_no_experiment_is_named(cli, tmp_path, verb):
    """Before anything is said of the records, which may be there."""
    (tmp_path / "mine.yaml").write_text("norm: batch\n")
    status, _, stderr = cli(verb, "mine.yaml")
    assert (status, "(mine.yaml:1): norm: key 'norm' does not exist" in stderr) == (2, True)


@pytest.mark.parametrize("content", [None, "{", '{"declared": {"arm": {"Normalized": {}}}, "sha256": "0"}'])
def test_without_a_declaration_that_can_be_read_its_runs_are_named_by_scheme(cli, tmp_path, content):
    (tmp_path / "mine.yaml").write_text(OWN)
    assert cli("reproduce", "mine.yaml")[0] == 0
    frozen = tmp_path / "results" / "mine" / "cpu" / "frozen.json"
    frozen.unlink() if content is None else frozen.write_text(content)
    assert set(normexp.load("results").runs["arm"]) == {
        "none, optim.lr=0.5", "none, optim.lr=0.125", "batch, optim.lr=0.5", "batch, optim.lr=0.125"
    }  # fmt: skip


def test_the_command_that_made_it_can_be_pasted(cli, tmp_path):
    cli("new", "experiment", "mine")
    (tmp_path / "mine.yaml").rename(tmp_path / "my own.yaml")
    assert command(load("my own.yaml", "smoke")) == "normexp reproduce 'my own.yaml' scale=smoke"
    status, _, stderr = cli(*shlex.split(command(load("my own.yaml", "smoke")))[1:], "--dry-run")
    assert status == 0, stderr


@pytest.mark.slow
def test_a_scheme_of_ones_own_is_an_arm_where_it_is_typed_that_its_code_may_run(cli, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    code = "from normexp.norms.layer import LayerNorm\n\n\nclass Mine(LayerNorm):\n    pass\n"
    (tmp_path / "own_scheme_of_a_test.py").write_text(code)
    cli("new", "experiment", "mine")
    path = tmp_path / "mine.yaml"
    path.write_text(path.read_text().replace("norm: batch", "norm: own_scheme_of_a_test.Mine", 1))
    status, _, stderr = cli("reproduce", "mine.yaml", "scale=smoke")
    assert (status, len(stderr.splitlines())) == (2, 1)
    assert "add 'plugins=[own_scheme_of_a_test]'" in stderr
    assert not (tmp_path / "results").exists()
    leave = "plugins=[own_scheme_of_a_test]"
    status, stdout, stderr = cli("reproduce", "mine.yaml", "scale=smoke", leave)
    assert status == 0, stderr
    assert f"`normexp reproduce mine.yaml scale=smoke '{leave}'`" in stdout
    for verb in ("report", "freeze"):
        assert cli(verb, "mine.yaml", "scale=smoke")[0] == 2
        assert cli(verb, "mine.yaml", "scale=smoke", leave)[0] == 0


@pytest.mark.parametrize(("given", "there"), [("my.yml", "my.yaml"), ("my.yaml", "my.yml"), ("my", "my.yml")])
def test_a_file_of_settings_with_the_other_ending_is_named(cli, tmp_path, given, there):
    (tmp_path / there).touch()
    status, _, stderr = cli("run", "--config", given)
    assert (status, stderr) == (2, f"normexp: --config {given}: no such file; did you mean {there}?\n")


def test_freeze_writes_once_and_then_says_what_was_changed(cli, tmp_path):
    cli("new", "experiment", "mine")
    status, stdout, _ = cli("freeze", "mine.yaml", "scale=cpu")
    assert (status, stdout.strip()) == (0, "results/mine/cpu/frozen.json")
    path = tmp_path / "mine.yaml"
    path.write_text(path.read_text().replace("[0, 1, 2, 3, 4]", "[0, 1, 2]"))
    _, stdout, _ = cli("freeze", "mine.yaml", "scale=cpu")
    assert "seeds were changed after the freeze, before the first run: 0-4 before, 0-2 now" in stdout


def test_the_schema_is_json_schema_with_every_key(cli):
    status, stdout, _ = cli("list", "experiments", "--schema")
    assert status == 0
    schema = json.loads(stdout)
    assert {"arms", "grid", "claims", "scales", "select"} <= set(schema["properties"])
    assert "search" in schema["$defs"]["Selection"]["properties"]
    assert schema["$defs"]["Difference"]["required"] == ["text", "source", "compare", "of", "metric", "than", "in"]


def test_the_page_of_the_schema_is_the_schema():
    from pathlib import Path

    from normexp.experiments.schema_page import page

    assert (Path(__file__).parents[2] / "docs" / "experiments.md").read_text() == page()


def test_every_key_on_the_page_has_a_meaning_in_its_own_row():
    from normexp.experiments.schema_page import page

    tables = [block.splitlines() for block in page().split("\n\n") if block.startswith("| key |")]
    rows = [row.split(" | ") for table in tables for row in table[2:]]
    assert len(rows) > 100
    assert [row for row in rows if len(row) != 3 or not row[2].strip("| ")] == []


def is_trained(experiment: Experiment, folder: Path) -> bool:
    """Tell whether there are as many runs as the first look at the experiment needs, besides those that chose."""
    runs = [run for run in find_runs([folder]) if run.path.is_relative_to(folder / "runs")]
    return len(runs) >= len(experiment.arms) * len(experiment.stages()[0].points())


@pytest.mark.parametrize("name", names())
def test_the_minutes_of_an_experiment_are_those_of_its_records(name: str) -> None:
    declared = load_yaml(TOP / "configs" / "experiment" / f"{name}.yaml").get("minutes", {})
    top = TOP / "results" / name
    packed = {top / path.relative_to(top).parts[0] for path in top.glob("*/**/records.zip")}
    experiments = {folder.name: read(name, folder.name) for folder in packed}
    assert set(declared) == {folder.name for folder in packed if is_trained(experiments[folder.name], folder)}
    for scale in declared:
        experiment = experiments[scale]
        select = experiment.select
        seeds = {*experiment.grid["seed"], *([*select.seeds, *select.ties] if select else ())}
        runs = (
            run
            for run in find_runs([top / scale])
            if int(run.path.name.rpartition("seed=")[2].partition(",")[0]) in seeds
        )  # no pilot
        seconds = sum(run.status.get("seconds", 0.0) for run in runs)
        assert declared[scale] == pytest.approx(max(seconds / 60, 0.1), rel=0.06, abs=0.05)


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.parent.relative_to(TOP / "results").as_posix())
def test_committed_records_do_not_say_where_data_lay(path: Path) -> None:
    archive = open_archive(path)
    commands = {each: archive.read(each, MOST_BYTES) for each in archive.names if each.endswith("/config.yaml")}
    assert commands
    assert without_folders(commands) == commands


def test_most_experiments_have_committed_records() -> None:
    assert {path.relative_to(TOP / "results").parts[0] for path in ARCHIVES} > {"which_norm", "ioffe2015_table"}
    assert len(ARCHIVES) > 80


def test_list_says_data_and_time_of_an_experiment(cli) -> None:
    _, shown, _ = cli("list", "experiments")
    lines = shown.splitlines()
    needs = {line.split()[0]: after.strip() for line, after in zip(lines[::2], lines[1::2], strict=True)}
    took = load_yaml(TOP / "configs" / "experiment" / "ioffe2015_figure1.yaml")["minutes"]
    assert needs["ioffe2015_figure1"] == f"data: mnist; cpu {took['cpu']:.1f} min, paper {took['paper'] / 60:.1f} h"
    assert needs["salimans2016_beta1"].endswith("cpu 2.3 h")
    assert needs["zuo2018_notes"].startswith("data: its own; paper ")
    assert "S00" not in shown
    assert "from memory" not in shown


PARTS = """
from dataclasses import dataclass

from torch import nn

from normexp.probes.base import Probe


def net(num_outputs, lack=0):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, num_outputs - lack))


@dataclass(frozen=True, kw_only=True)
class Count(Probe):
    def measure(self, situation):
        return [("network", "weights", 650)]
"""
PROBED = """
paper: ours
item: none
title: What a probe measures
about: Two networks.
common: {dataset: digits, model: linear, steps: 2, eval_every: 2, batch_size: 32, threads: 1, probe: moments}
arms:
  one: {}
  other: {optim.lr: 0.5}
grid: {seed: [0, 1, 2, 3, 4, 5]}
scales: {cpu: {}}
table: {metric: test/accuracy}
"""
CLAIM = (
    "claims: [{text: It grows, source: ours, compare: difference, of: one, than: other, in: '> 0', better: lower,"
    " metric: probe/NAME}]\n"
)
FIGURE = "figures: [{name: a, kind: KIND}]\n"
IN_VAIN = {
    "a claim": (
        PROBED + CLAIM.replace("NAME", "output/unit_mean_ab"),
        "claims[0] 'It grows': arm 'one': metric 'probe/output/unit_mean_ab' does not exist; allowed: probe/",
    ),
    "a probe of one's own": (
        (PROBED + CLAIM.replace("NAME", "network/weight")).replace("moments", "odd_net.Count"),
        "metric 'probe/network/weight' does not exist; allowed: probe/network/weights; did you mean probe/network/w",
    ),
    "an arm without a probe": (
        (PROBED + CLAIM.replace("NAME", "output/unit_mean_abs")).replace("other: {", "other: {probe: none, "),
        "arm 'other': metric 'probe/output/unit_mean_abs' does not exist: no probe measures anything in its runs",
    ),
    "a statistic": (
        PROBED + FIGURE.replace("KIND", "multiples, statistic: unit_mean_ab"),
        "figures[0] 'a': statistic 'unit_mean_ab' does not exist; allowed: ",
    ),
    "a layer of another statistic": (
        PROBED.replace("moments", "several, probe.of: [moments, weight_norm]")
        + FIGURE.replace("KIND", "multiples, statistic: unit_norm, layers: [output]"),
        "figures[0] 'a': layer 'output' does not exist; allowed: all, output.weight; did you mean output.weight?",
    ),
    "a layer of percentiles": (
        PROBED.replace("moments", "percentiles").replace("linear", "mlp")
        + FIGURE.replace("KIND", "percentiles, layer: nonlinearty 1"),
        "figures[0] 'a': layer 'nonlinearty 1' does not exist; allowed: nonlinearity 1, ",
    ),
    "a network": (
        PROBED.replace("other: {", "other: {model.lack: 1, ").replace("linear", "odd_net.net"),
        "experiment mine, arm 'other': model=odd_net.net norm=none dataset=digits: the network's outputs have shape",
    ),
}


@pytest.mark.parametrize("case", IN_VAIN)
def test_what_no_run_could_give_is_refused_before_anything_is_frozen(cli, tmp_path, case):
    text, said = IN_VAIN[case]
    (tmp_path / "odd_net.py").write_text(PARTS)
    (tmp_path / "first.yaml").write_text(PROBED)
    (tmp_path / "mine.yaml").write_text(text)
    for words in (["mine.yaml"], ["mine.yaml", "--dry-run"], ["first.yaml", "mine.yaml"]):
        status, stdout, stderr = cli("reproduce", *words, "jobs=1", "plugins=[odd_net]")
        assert (status, stdout, stderr.count("\n")) == (2, "", 1), stderr
        assert said in stderr
        assert not (tmp_path / "results").exists()


def test_what_a_probe_measures_is_asked_of_the_arms_that_are_run(cli, tmp_path):
    text = PROBED + CLAIM.replace("NAME", "output/unit_mean_abs")
    (tmp_path / "mine.yaml").write_text(text.replace("other: {", "other: {probe: none, "))
    assert cli("reproduce", "mine.yaml", "--dry-run", "--cell", "one", "jobs=1")[0] == 0
