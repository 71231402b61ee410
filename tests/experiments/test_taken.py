"""`reproduce --take PATH`: runs that are finished elsewhere are copied, and not trained again."""

import json
import os
import shutil
from pathlib import Path

import pytest
from in_process import InProcess

from normexp.errors import UserError
from normexp.experiments.freeze import changes_since_frozen
from normexp.experiments.load import load
from normexp.experiments.plans import Plans
from normexp.records import find_runs, write_atomically
from normexp.records.merging import copy_run
from normexp.sweeps.shared import Pace, write_plan

BASE = """
paper: ours
item: none
title: Two schemes
about: Two schemes at one rate.
common: {dataset: digits, model: mlp, model.widths: [4], steps: 2, eval_every: 2}
arms:
  plain: {norm: none}
  normalized: {norm: batch}
grid: {seed: [0, 1]}
select: {search: {optim.lr: [0.1, 0.2]}, seeds: [100], metric: validation/accuracy}
scales: {smoke: {}}
table: {metric: test/accuracy}
"""
MINE = """
like: base.yaml
title: Mine beside two
arms: {mine: {norm: layer}}
claims:
  - {text: Mine is ahead, source: ours, kind: own,
     compare: difference, metric: test/accuracy, of: mine, than: plain, in: "> 0"}
"""
TAKE = ("reproduce", "mine.yaml", "scale=smoke", "jobs=1", "--take")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A folder with base.yaml and its results; tests leave it as it is."""
    from normexp.cli.verbs import main

    folder = tmp_path_factory.mktemp("trained")
    (folder / "base.yaml").write_text(BASE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("normexp.sweeps.workers.Worker", InProcess)
        patch.chdir(folder)
        assert main(["reproduce", "base.yaml", "scale=smoke", "jobs=1"]) == 0
    return folder


@pytest.fixture
def here(workers_here, trained, tmp_path, monkeypatch) -> Path:
    """A current folder with base.yaml, mine.yaml, and the results of the first in old."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained / "results" / "base", tmp_path / "old" / "base")
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path


def curves(folder: Path) -> dict[str, bytes]:
    found = find_runs([folder])
    return {run.path.relative_to(folder.resolve()).as_posix(): run.read("metrics.csv") for run in found}


def test_only_what_is_not_there_is_trained(cli, here):
    status, stdout, stderr = cli(*TAKE, "old")
    assert status == 0, stderr
    assert stderr.count("4 runs taken from old, and not trained") == 2  # of the choice, and of the arms
    assert "6 runs: 4 finished, 2 new" in stderr
    was, now = curves(here / "old" / "base" / "smoke"), curves(here / "results" / "mine" / "smoke")
    assert {name: data for name, data in now.items() if "/mine/" not in name} == was
    assert "| mine " in stdout


def test_the_table_says_where_they_are_from_and_a_claim_that_it_came_later(cli, here):
    assert cli(*TAKE, "old")[0] == 0
    folder = here / "results" / "mine" / "smoke"
    assert "before the runs: 8 runs were taken from old/base/smoke." in (folder / "table.md").read_text()
    frozen = json.loads((folder / "frozen.json").read_text())
    assert frozen["taken"]["runs/plain/seed=1"] == "old/base/smoke/runs/plain/seed=1"
    assert "8 runs were taken from old/base/smoke" in str(json.loads((folder / "claims.json").read_text())["changed"])


def test_the_same_command_goes_on_and_changes_nothing(cli, here):
    assert cli(*TAKE, "old")[0] == 0
    frozen = (here / "results/mine/smoke/frozen.json").read_bytes()
    shutil.rmtree(here / "results/mine/smoke/runs/mine")
    status, _, stderr = cli(*TAKE, "old")
    assert (status, "taken" in stderr, "2 new" in stderr) == (0, False, True)
    assert (here / "results/mine/smoke/frozen.json").read_bytes() == frozen


def test_an_archive_serves_as_a_folder_does(cli, here):
    assert cli("archive", "base.yaml", "results_dir=old")[0] == 0
    status, _, stderr = cli(*TAKE, "old/base/smoke/records.zip")
    assert (status, "6 runs: 4 finished, 2 new" in stderr) == (0, True), stderr


def test_a_dry_run_counts_those_that_are_known_and_writes_nothing(cli, here):
    status, _, stderr = cli(*TAKE, "old", "--dry-run")
    assert (status, stderr.count("4 runs taken from old"), "2 runs: 0 finished, 2 new" in stderr) == (0, 1, True), (
        stderr
    )
    after = stderr[stderr.index("Mine beside two") :]
    assert "how many of these are taken from old is known after the choice" in after
    assert "6 runs: 0 finished, 6 new" in after
    assert not (here / "results").exists()


def test_a_dry_run_behind_the_choice_counts_all_that_are_taken(cli, here):
    assert cli(*TAKE, "old")[0] == 0
    shutil.rmtree(here / "results/mine/smoke/runs")
    status, _, stderr = cli(*TAKE, "old", "--dry-run")
    assert (status, stderr.count("4 runs taken from old"), "2 runs: 0 finished, 2 new" in stderr) == (0, 1, True), (
        stderr
    )
    assert "known after" not in stderr


@pytest.mark.parametrize("word", ["true", "auto"])
def test_nothing_is_stacked_where_all_are_taken(cli, here, word):
    base = ("reproduce", "base.yaml", "scale=smoke", "jobs=1", f"stack={word}", "--take", "old")
    assert cli(*base, "--dry-run")[0] == 0
    status, _, stderr = cli(*base)
    assert (status, stderr.count("4 runs: 4 finished, 0 new")) == (0, 2), stderr


def test_what_workers_share_is_not_stacked_whatever_is_taken(cli, here):
    assert cli(*TAKE, "old")[0] == 0
    cells = Plans(load("mine.yaml", "smoke"), Path("results"), ["plain", "normalized", "mine"]).run_plan()
    write_plan(cells.cells, Path("results"), Pace(10, 90))
    for each in (here / "results/mine/smoke/runs").iterdir():
        shutil.rmtree(each)
    status, _, stderr = cli(*TAKE, "old", "stack=true")
    assert (status, "this sweep was begun with executor=" in stderr, stderr.count("\n")) == (2, True, 1), stderr


def test_one_with_other_settings_is_none(cli, here):
    (here / "mine.yaml").write_text(MINE + "common: {steps: 4}\n")
    status, _, stderr = cli(*TAKE, "old", "--dry-run")
    assert (status, "runs taken" in stderr) == (0, False), stderr


def test_a_damaged_one_is_trained_and_said_once(cli, here):
    broken = here / "old/base/smoke/runs/plain/seed=0/metrics.csv"
    broken.write_text(broken.read_text().replace("0", "1"))
    status, _, stderr = cli(*TAKE, "old")
    assert status == 0, stderr
    assert stderr.count("not taken: ") == 1
    assert "6 runs: 3 finished, 3 new" in stderr
    assert curves(here / "results/mine/smoke/runs/plain")["seed=0"] != broken.read_bytes()


def test_of_a_damaged_one_another_record_serves(cli, here):
    shutil.copytree(here / "old/base", here / "old/copy")
    broken = here / "old/base/smoke/runs/plain/seed=0/metrics.csv"
    broken.write_text(broken.read_text().replace("0", "1"))
    status, _, stderr = cli(*TAKE, "old")
    assert (status, stderr.count("not taken: "), "6 runs: 4 finished, 2 new" in stderr) == (0, 1, True), stderr
    taken = json.loads((here / "results/mine/smoke/frozen.json").read_text())["taken"]
    assert taken["runs/plain/seed=0"] == "old/copy/smoke/runs/plain/seed=0"


@pytest.mark.slow
def test_one_of_other_code_is_trained(cli, here, monkeypatch):
    code = "from normexp.norms import LayerNorm\n\n\nclass Own(LayerNorm):\n    pass\n"
    (here / "taken_norms.py").write_text(code)
    (here / "base.yaml").write_text(BASE.replace("{norm: batch}", "{norm: taken_norms.Own}"))
    base = ("reproduce", "base.yaml", "scale=smoke", "jobs=1", "plugins=[taken_norms]")
    assert cli(*base, "results_dir=new")[0] == 0
    assert "taken from new" in cli(*base, "--take", "new", "--dry-run", "results_dir=other")[2]
    (here / "taken_norms.py").write_text(code + "# changed\n")
    _, _, stderr = cli(*base, "--take", "new", "results_dir=other")
    assert "was trained with another taken_norms than there is now" in stderr
    assert "4 runs: 2 finished, 2 new" in stderr


def test_what_a_killed_process_had_half_copied_is_removed_and_what_another_copies_is_not(cli, here):
    killed, another = (here / f"results/mine/smoke/runs/plain/.merge-0000000{number}" for number in (0, 1))
    killed.mkdir(parents=True)
    another.mkdir()
    os.utime(killed, (0, 0))
    assert cli(*TAKE, "old")[0] == 0
    assert (killed.exists(), another.exists()) == (False, True)


SAMPLED = """seeds: [100], metric: validation/accuracy,
         search: {optim.lr: "tag(log,interval(0.01,1))"}, sampler: {trials: %d}}"""


@pytest.mark.slow
def test_trials_after_those_that_are_taken_have_an_estimate(cli, here):
    chosen = BASE[BASE.index("search:") : BASE.index("\nscales:")]
    base = ("reproduce", "base.yaml", "scale=smoke", "jobs=1")
    (here / "base.yaml").write_text(BASE.replace(chosen, SAMPLED % 2))
    assert cli(*base, "results_dir=drawn")[0] == 0
    (here / "base.yaml").write_text(BASE.replace(chosen, SAMPLED % 4))
    status, _, stderr = cli(*base, "--take", "drawn")
    assert (status, "for 2 trials, timed by" in stderr) == (0, True), stderr


@pytest.mark.slow
def test_what_is_trained_again_here_is_not_taken_any_longer(cli, here):
    assert cli(*TAKE, "old")[0] == 0
    folder = here / "results/mine/smoke"
    assert cli("reproduce", "mine.yaml", "scale=smoke", "jobs=1", "--cell", "plain", "--force")[0] == 0
    frozen = json.loads((folder / "frozen.json").read_text())
    assert frozen["taken"].keys() == {"runs/normalized/seed=0", "runs/normalized/seed=1", *selected(frozen)}
    assert cli("reproduce", "mine.yaml", "scale=smoke", "jobs=1", "--force")[0] == 0
    frozen = json.loads((folder / "frozen.json").read_text())
    assert (list(frozen)[-1], "taken" in frozen) == ("declared", False)
    assert "nothing is known" not in (folder / "table.md").read_text()


def selected(frozen: dict) -> set[str]:
    return {name for name in frozen["taken"] if name.startswith("select/normalized")}


@pytest.mark.slow
def test_where_copying_stops_what_is_trained_afterwards_is_not_named_as_taken(cli, here, monkeypatch):
    copied = []

    def stopped(run, place, ignored):
        if copied:
            raise UserError("no room")
        copied.append(place)
        copy_run(run, place, ignored)

    with monkeypatch.context() as patch:
        patch.setattr("normexp.experiments.taken.copy_run", stopped)
        status, _, stderr = cli(*TAKE, "old")
    assert (status, "no room" in stderr) == (2, True), stderr
    changes = changes_since_frozen(load("mine.yaml", "smoke"), Path("results"))
    assert [change.after for change in changes] == ["1 run was taken from old/base/smoke"]
    assert cli(*TAKE[:-1])[0] == 0
    folder = Path("results/mine/smoke")
    taken = json.loads((folder / "frozen.json").read_text())["taken"]
    assert taken.keys() == {place.relative_to(folder).as_posix() for place in copied}


def test_frozen_json_is_written_once_for_all_that_are_taken(cli, here, monkeypatch):
    written = []

    def listen(path, data):
        written.append(path.name)
        write_atomically(path, data)

    monkeypatch.setattr("normexp.experiments.taken.write_atomically", listen)
    assert cli(*TAKE, "old")[0] == 0
    assert written == ["frozen.json"] * 2  # of the choice, and of the arms


def test_of_a_source_outside_the_current_folder_nothing_of_the_machine_is_recorded(cli, here, monkeypatch):
    (here / "clone").mkdir()
    (here / "old").rename(here / "clone" / "results")
    place = here / "elsewhere"
    place.mkdir()
    for name in ("base.yaml", "mine.yaml"):
        (here / name).rename(place / name)
    monkeypatch.chdir(place)
    assert cli(*TAKE, here / "clone/results/base")[0] == 0
    frozen = (place / "results/mine/smoke/frozen.json").read_text()
    assert json.loads(frozen)["taken"]["runs/plain/seed=1"] == "results/base/smoke/runs/plain/seed=1"
    assert str(here) not in frozen
    assert "8 runs were taken from results/base/smoke." in (place / "results/mine/smoke/table.md").read_text()


@pytest.mark.parametrize("left", [".lock", "config.yaml"])
def test_a_run_that_was_killed_before_it_began_gives_its_place_up(cli, here, left):
    place, there = here / "results/mine/smoke/runs/plain/seed=0", here / "old/base/smoke/runs/plain/seed=0"
    place.mkdir(parents=True)
    (place / left).write_bytes(b"" if left == ".lock" else (there / left).read_bytes())
    status, _, stderr = cli(*TAKE, "old")
    assert (status, stderr.count("6 runs: 4 finished, 2 new")) == (0, 2), stderr
    assert (place / "metrics.csv").read_bytes() == (there / "metrics.csv").read_bytes()


def test_processors_that_are_not_those_of_every_arm_are_said(cli, here):
    assert cli(*TAKE, "old")[0] == 0
    table = here / "results/mine/smoke/table.md"
    assert "processors" not in table.read_text()
    for path in here.glob("results/mine/smoke/runs/plain/*/environment.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "processor": "Abacus", "cpu": {}}))
        status = path.with_name("status.json")
        told = json.loads(status.read_text())
        del told["sha256"]["environment.json"]
        status.write_text(json.dumps(told))
    assert cli("report", "mine.yaml")[0] == 0
    assert "Not every arm was trained on the same processors, which round otherwise: " in table.read_text()
    assert "Abacus" in table.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--take", "od"], "did you mean old?"),
        (["--take", "base.yaml"], "holds no run directory"),
        (["--take", "old", "--force"], "--force trains all again, and --take takes what is trained"),
        (["--take", "old", "--power"], "--power runs nothing, and looks at all arms; leave out --take"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(cli, here, words, said):
    status, _, stderr = cli("reproduce", "mine.yaml", "scale=smoke", *words)
    assert (status, said in stderr, stderr.count("\n")) == (2, True, 1), stderr
    assert not (here / "results").exists()
