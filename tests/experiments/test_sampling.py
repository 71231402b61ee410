"""`select.sampler`: Optuna's trials in an experiment, recorded, and the same ones wherever the command was stopped."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_up import MADE_UP, assert_unsound, selecting
from parsed import parse

from normexp.experiments import reproduce as reproducing
from normexp.experiments.freeze import changes_since_frozen, freeze
from normexp.records import find_runs
from normexp.records.names import JOURNAL

TRIALS = 12  # tpe draws its first ten at random
RATE = "tag(log,interval(0.001,1))"
DATA: dict[str, Any] = {
    **MADE_UP,
    "common": {"dataset": "digits", "model": "linear", "steps": 2},
    "arms": {"none": {"norm": "none"}},
    "grid": {"seed": [0, 1]},
    "select": {"search": {"optim.lr": RATE}, "seeds": [100], "metric": "validation/accuracy",
               "sampler": {"name": "tpe", "trials": TRIALS}},
    "table": {"columns": ["test/accuracy"]},
    "scales": {"cpu": None},
}  # fmt: skip


class Killed(BaseException):
    """Nobody catches it."""


@pytest.fixture
def reproduce(cli, tmp_path, workers_here):
    """Run `normexp reproduce` in this process: reproduce("folder", *words) -> (status, stdout, stderr)."""
    path = tmp_path / "own.yaml"

    def call(folder: str, *words: str, data: Any = DATA) -> tuple[int, str, str]:
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        where = f"results_dir={tmp_path / folder}"
        return cli("reproduce", str(path), "jobs=1", "threads=1", "device=cpu", where, *words)

    return call


def record(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "own" / "cpu" / "chosen.json").read_text())


@pytest.mark.slow
def test_a_selection_that_was_killed_goes_on_with_the_same_trials(reproduce, tmp_path, monkeypatch):
    status, table, said = reproduce("whole")
    assert status == 0, said
    assert "choosing optim.lr by tpe, trial 12 of 12" in said
    assert f"Chosen by Optuna's sampler tpe (seed 0) from 12 trials: optim.lr in {RATE}" in table
    tried = record(tmp_path / "whole")["tried"]["none"]
    rates = [trial["values"]["optim.lr"] for trial in tried]
    assert len(set(rates)) == TRIALS
    assert all(0.001 <= rate <= 1 for rate in rates)
    best = max(tried, key=lambda trial: trial["mean"])
    assert record(tmp_path / "whole")["chosen"]["none"]["optim.lr"] in {
        trial["values"]["optim.lr"] for trial in tried if trial["mean"] == best["mean"]
    }
    for moment in ("trained", "scored"):
        check_goes_on(reproduce, monkeypatch, moment, table)
        check_same(tmp_path / moment, tmp_path / "whole")


def check_goes_on(reproduce, monkeypatch, moment: str, table: str) -> None:
    """Kill the selection when its last trial but one was trained, or scored as well; then run it again."""
    score = reproducing.score

    def mortal(experiment, results, arms, number):
        if moment == "scored":
            score(experiment, results, arms, number)
        if number == TRIALS - 2:
            raise Killed
        score(experiment, results, arms, number)

    monkeypatch.setattr(reproducing, "score", mortal)
    with pytest.raises(Killed):
        reproduce(moment)
    monkeypatch.setattr(reproducing, "score", score)
    _, _, planned = reproduce(moment, "--dry-run")
    assert planned.count("choosing") == TRIALS - (moment == "trained")
    assert reproduce(moment)[1] == table.replace("whole", moment)


def check_same(continued: Path, whole: Path) -> None:
    assert record(continued) == record(whole)
    tried = record(whole)["tried"]["none"]
    for folder in (continued, whole):
        assert scores(folder / "own" / "cpu" / JOURNAL) == [trial["mean"] for trial in tried]
    runs = find_runs([continued / "own" / "cpu" / "select"])
    assert {run.config["optim"]["lr"] for run in runs} == {trial["values"]["optim.lr"] for trial in tried}


def scores(journal: Path) -> list[float]:
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    return [line["value"] for line in lines if "params" in line]


@pytest.mark.slow
def test_the_seed_decides_and_every_choice_has_its_own_study(reproduce, tmp_path):
    arms = {"none": {"norm": "none"}, "rms": {"norm": "rms", "model.normalize_output": True}}
    for seed in (0, 1):
        data = selecting(DATA, sampler={"name": "random", "trials": 2, "seed": seed}) | {"arms": arms}
        assert reproduce(f"{seed}", data=data)[0] == 0
    tried = [record(tmp_path / folder)["tried"] for folder in "01"]
    assert tried[0]["none"][0]["values"] != tried[1]["none"][0]["values"]
    assert len(scores(tmp_path / "0" / "own" / "cpu" / JOURNAL)) == 4
    assert reproduce("0", "--cell", "rms", data=data | {"title": "Another"})[0] == 2  # it was declared otherwise


def test_a_record_outside_the_interval_is_refused(reproduce, tmp_path):
    data = selecting(DATA, sampler={"name": "random", "trials": 2})
    reproduce("r", data=data)
    path = tmp_path / "r" / "own" / "cpu" / "chosen.json"
    path.write_text(path.read_text().replace('"optim.lr": 0.', '"optim.lr": 10.'))
    status, _, said = reproduce("r", "--dry-run", data=data)
    assert status == 2
    assert f"is not in {RATE}; delete it" in said.splitlines()[-1]


def test_the_sampler_and_its_space_are_frozen(tmp_path):
    freeze(parse("x", "cpu", DATA), tmp_path)
    now = selecting(DATA, search={"optim.lr": "interval(0.01,1)"}, sampler={"name": "tpe", "trials": 13})
    found = [str(change) for change in changes_since_frozen(parse("x", "cpu", now), tmp_path)]
    assert found == [
        "sampler was changed after the freeze, before the first run: trials: 12 before, trials: 13 now",
        f"search 'optim.lr' was changed after the freeze, before the first run: {RATE} before, interval(0.01,1) now",
    ]


REFUSED = {
    "a sampler": (selecting(DATA, sampler={"name": "tpo"}), "did you mean tpe"),
    "one trial": (selecting(DATA, sampler={"trials": 1}), "select.sampler.trials"),
    "a list": (selecting(DATA, search={"optim.lr": [0.1, 0.5]}), "[0.1, 0.5] is a list; `sampler` draws"),
    "no sampler": (selecting(DATA, sampler=None), "is an interval; give `sampler` with it, or a list of values"),
    "no interval": (selecting(DATA, search={"optim.lr": "0.1"}), "'0.1' is no interval; for example"),
    "not sound": (selecting(DATA, search={"optim.lr": "interval(0,"}), "optim.lr"),
    "turned round": (selecting(DATA, search={"optim.lr": "interval(1,0)"}), "its ends are the wrong way round"),
    "logarithm of 0": (
        selecting(DATA, search={"optim.lr": "tag(log,interval(0,1))"}),
        "a logarithm needs numbers above 0",
    ),
    "not allowed": (selecting(DATA, search={"optim.lr": "interval(-1,1)"}), "optim.lr=-1"),
    "all numbers": (
        selecting(DATA, search={"batch_size": "interval(8,16)"}),
        "select.search.batch_size: interval(8,16): must be whole numbers; did you mean int(interval(8,16))?",
    ),
    "all numbers by their logarithms": (
        selecting(DATA, search={"batch_size": "tag(log,interval(8,16))"}),
        "tag(log,interval(8,16)): must be whole numbers; did you mean tag(log,int(interval(8,16)))?",
    ),
    "no whole number either": (
        selecting(DATA, search={"batch_size": "interval(0,16)"}),
        "batch_size=0.0: must be an integer",
    ),
    "a group": (selecting(DATA, search={"norm": "interval(0,1)"}), "norm has options, an interval is of numbers"),
    "both": (selecting(DATA, halving={"steps": [1, 2], "keep": [2]}), "give either halving or sampler"),
    "a scale's list": (
        {**DATA, "scales": {"cpu": {"select": {"search": {"optim.lr": [0.1]}}}}},
        "scales.cpu.select.search.optim.lr: [0.1] is a list",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_a_space_that_cannot_be_meant_is_one_line(data, message):
    assert_unsound(data, message)


def test_a_missing_library_is_one_line(reproduce, tmp_path, monkeypatch):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda name: None)
    status, _, said = reproduce("missing")
    assert (status, said) == (2, "normexp: sampler=tpe: optuna is not installed; pip install 'normexp[optuna]'\n")
    assert not (tmp_path / "missing").exists()
