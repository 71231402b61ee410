"""Successive halving: who survives which rung, by made-up records; that all is recorded, resumed, and costs less."""

from typing import Any

import pytest
import yaml
from made_up import MADE_UP, assert_unsound, finish, selecting
from one_line import one_line_error
from parsed import parse

from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.freeze import changes_since_frozen, freeze
from normexp.experiments.halving import share_of_grid, survivors
from normexp.experiments.load import load
from normexp.experiments.plans import Plans
from normexp.experiments.selection import read_choice, read_selection, undecided_choices, write_choice
from normexp.experiments.trials import Choosing
from normexp.records import find_runs

RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
DATA: dict[str, Any] = {
    **MADE_UP,
    "common": {**MADE_UP["common"], "steps": 8},
    "grid": {"seed": [0, 1]},
    "select": {"search": {"optim.lr": RATES}, "seeds": [100, 101], "metric": "validation/accuracy",
               "halving": {"steps": [2, 4, 8], "keep": [4, 2]}},
    "table": {"columns": ["test/accuracy"]},
    "scales": {"cpu": None},
}  # fmt: skip


def halved(**halving: list[int]) -> dict[str, Any]:
    return selecting(DATA, halving={**DATA["select"]["halving"], **halving})


@pytest.fixture
def experiment() -> Experiment:
    return parse("x", "cpu", DATA)


FIRST = dict(zip(RATES, ["0.3", "0.5", "diverged", "0.6", "0.4", "0.7", "nan"], strict=True))
SECOND = {0.02: "0.8", 0.1: "0.7", 0.2: "0.9", 0.5: "diverged"}


def test_the_best_of_a_rung_go_on_and_train_longer(experiment, results):
    assert survivors(Choosing(experiment, results, "none"), 0) == [{"optim.lr": rate} for rate in RATES]
    finish(experiment, results, 0, FIRST)
    assert {tuple(each.values()) for each in survivors(Choosing(experiment, results, "none"), 1)} == {
        (0.5,), (0.1,), (0.02,), (0.2,)
    }  # fmt: skip
    finish(experiment, results, 1, SECOND)
    planned = Plans(experiment, results, ["none"]).selection_plan(2).cells
    assert {(cell.config["optim"]["lr"], cell.config["seed"], cell.config["steps"]) for cell in planned} == {
        (rate, seed, 8) for rate in (0.02, 0.2) for seed in (100, 101)
    }
    assert planned[0].path == run_place(
        results, experiment, "none", (("optim.lr", 0.2), ("seed", 100), ("steps", 8)), "select"
    )


def test_the_last_rung_chooses_and_every_rung_is_recorded(experiment, results):
    finish(experiment, results, 0, FIRST)
    finish(experiment, results, 1, SECOND)
    finish(experiment, results, 2, {0.02: "0.91", 0.2: "0.90"})
    write_choice(experiment, results, ["none"])
    assert read_choice(experiment, results) == {"none": {"optim.lr": 0.02}}
    record = read_selection(experiment, results)
    assert [trial["steps"] for trial in record["tried"]["none"]] == [2] * 7 + [4] * 4 + [8] * 2
    assert undecided_choices(experiment, record) == []


def test_of_equals_the_smaller_value_survives(experiment, results):
    finish(experiment, results, 0, dict.fromkeys(RATES, "0.5"))
    assert survivors(Choosing(experiment, results, "none"), 1) == [{"optim.lr": rate} for rate in RATES[:4]]


def test_the_cost_is_a_share_of_the_grid(experiment):
    assert experiment.select is not None
    assert share_of_grid(experiment.select) == pytest.approx((7 * 2 + 4 * 4 + 2 * 8) / (7 * 8))
    assert share_of_grid(experiment.select.model_copy(update={"halving": None})) == 1


UNSET = {"dataset": "digits", "model": "mlp"}  # the steps
MISTAKES = {
    "not growing": (halved(steps=[4, 2, 8]), "each rung has more steps than the one before"),
    "not narrowing": (halved(keep=[2, 4]), "each rung keeps fewer than the one before"),
    "one number too many": (halved(keep=[4, 3, 2]), "wants a number for each rung after the first, 2"),
    "one survivor": (halved(keep=[4, 1]), "select.halving.keep[1]"),
    "longer than the runs": (
        halved(steps=[2, 4, 9]),
        "select.halving.steps: 9 steps are more than those of every run, 8",
    ),
    "steps of trials, which a rung has": (
        selecting(DATA, common={"steps": 4}),
        "select.common.steps: steps is what halving sets, which would replace it",
    ),
    "steps that are searched": (
        {**selecting(DATA, search={"steps": [4, 8], "optim.lr": RATES}), "common": UNSET},
        "select.search.steps: steps is what halving sets",
    ),
    "steps by which is chosen": (
        {**selecting(DATA, per=["steps"]), "common": UNSET, "grid": {"seed": [0], "steps": [4, 8]}},
        "select.per.steps: steps is what halving sets",
    ),
    "all survive": (halved(keep=[7, 2]), "keeps 7 of 7 combinations"),
}


@pytest.mark.parametrize(("data", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_halving_that_cannot_be_meant_is_one_line(data, message):
    assert_unsound(data, message)


def test_what_a_scale_lays_over_the_choice_is_named_where_it_stands(tmp_path):
    path = tmp_path / "own.yaml"
    halving = {"steps": [2, 4, 9], "keep": [4, 2]}
    path.write_text(yaml.safe_dump({**DATA, "scales": {"cpu": {"select": {"halving": halving}}}}, sort_keys=False))
    with one_line_error(match=r"scales.cpu.select.halving.steps: 9 steps"):
        load(str(path), "cpu")


def test_halving_is_frozen(experiment, tmp_path):
    freeze(experiment, tmp_path)
    (change,) = changes_since_frozen(parse("x", "cpu", halved(keep=[3, 2])), tmp_path)
    assert str(change).startswith("halving was changed after the freeze, before the first run: keep: [4, 2] before")
    assert str(change).endswith("keep: [3, 2] now")


@pytest.mark.slow
def test_reproduce_goes_on_at_the_rung_where_it_was_stopped(cli, tmp_path, workers_here):
    data = {**DATA, "arms": {"none": {"norm": "none"}}, "common": {"dataset": "digits", "model": "linear", "steps": 8}}
    path = tmp_path / "own_halving.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    results = tmp_path / "results"
    words = ("reproduce", str(path), "jobs=1", "threads=1", "device=cpu", f"results_dir={results}")
    status, table, said = cli(*words)
    assert status == 0, said
    assert "choosing optim.lr, 2 steps, then the best 4 for 4, then the best 2 for 8" in said
    trained = sorted(run.config["steps"] for run in find_runs([results / "own_halving" / "cpu" / "select"]))
    assert trained == [2] * 14 + [4] * 8 + [8] * 4
    assert "Chosen by successive halving at 2, 4, 8 steps, with 82 % of the steps" in table
    selection = (results / "own_halving" / "cpu" / "selection.csv").read_text()
    assert selection.splitlines()[0].startswith("arm,optim.lr,steps,")
    chosen = (results / "own_halving" / "cpu" / "chosen.json").read_bytes()
    last = [run.path for run in find_runs([results]) if run.config["steps"] == 8 and "select" in str(run.path)]
    for name in last[0].iterdir():
        name.unlink()
    last[0].rmdir()
    before = {each: each.stat().st_mtime_ns for each in results.rglob("metrics.csv")}
    assert cli(*words)[:2] == (0, table)
    assert {each: each.stat().st_mtime_ns for each in before} == before
    assert (results / "own_halving" / "cpu" / "chosen.json").read_bytes() == chosen
    _, _, planned = cli(*words, "--dry-run")
    assert [line for line in planned.splitlines() if "choosing" in line][1:]  # a rung that is done tells the next one
    for name in last[-1].iterdir():
        name.unlink()
    _, _, planned = cli(*words, "--dry-run")
    assert "4 runs: 3 finished, 1 new" in planned
    first = next(run.path for run in find_runs([results]) if run.config["steps"] == 2)
    for name in first.iterdir():
        name.unlink()
    status, _, planned = cli(*words, "--dry-run")
    assert (status, planned.count("choosing")) == (0, 1)  # which of a rung go on is not known before it is done
