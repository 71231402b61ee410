"""Hyperparameters that are chosen anew at each value of an axis of the grid: made-up selection runs, planned runs."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from made_up import MADE_UP, every_point
from parsed import parse

from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.plans import Plans
from normexp.experiments.selection import choice_path, read_choice, write_choice

DATA: dict[str, Any] = {
    **MADE_UP,
    "select": {**MADE_UP["select"], "per": ["batch_size"]},
    "table": {"columns": ["test/accuracy"]},
}
BEST = {("none", 128): 0.5, ("none", 8): 0.1, ("batch", 128): 0.1, ("batch", 8): 0.5}


@pytest.fixture
def experiment() -> Experiment:
    return parse("x", "cpu", DATA)


def fabricate(experiment: Experiment, results: Path, arm: str, batch_size: int) -> None:
    """Make the finished runs of one choice: the rate of BEST does better."""
    for point in every_point(experiment.select):
        place = run_place(results, experiment, arm, (("batch_size", batch_size), *point), "select")
        place.mkdir(parents=True)
        (place / "status.json").write_text(json.dumps({"status": "done"}))
        score = 0.9 if dict(point)["optim.lr"] == BEST[arm, batch_size] else 0.3
        (place / "metrics.csv").write_text(f"step,validation/accuracy\n5,{score}\n")


def rates(plan: Any) -> dict[tuple[str, int, int], float]:
    """Return {(norm, batch size, seed): rate} of the planned runs."""
    configs = [cell.config for cell in plan.cells]
    return {(c.choices["norm"], c["batch_size"], c["seed"]): c["optim"]["lr"] for c in configs}


def test_selection_runs_every_value_of_the_axis(experiment, results):
    plan = Plans(experiment, results, ["batch"]).selection_plan(0)
    assert {(cell.config["batch_size"], cell.config["optim"]["lr"]) for cell in plan.cells} == {
        (size, rate) for size in (128, 8) for rate in (0.1, 0.5)
    }
    assert len({cell.path for cell in plan.cells}) == 4


def test_runs_use_what_was_chosen_at_their_own_value(experiment, results):
    for arm, size in BEST:
        fabricate(experiment, results, arm, size)
    write_choice(experiment, results, ["none", "batch"])
    chosen = {f"{arm} batch_size={size}": {"optim.lr": rate} for (arm, size), rate in BEST.items()}
    assert read_choice(experiment, results) == chosen
    planned = rates(Plans(experiment, results, ["none", "batch"]).run_plan())
    assert planned == {(arm, size, seed): rate for (arm, size), rate in BEST.items() for seed in (0, 1)}


def test_runs_that_are_compared_with_one_another_are_trained_one_after_the_other(results):
    experiment = parse("x", "cpu", {key: value for key, value in DATA.items() if key != "select"})
    plan = Plans(experiment, results, ["none", "batch"]).run_plan()
    order = [(cell.config["batch_size"], cell.config["seed"], cell.config.choices["norm"]) for cell in plan.cells]
    assert order == [(size, seed, norm) for size in (128, 8) for seed in (0, 1) for norm in ("none", "batch")]


def test_dry_run_counts_what_is_not_chosen_yet(experiment, results):
    for size in (128, 8):
        fabricate(experiment, results, "none", size)
    write_choice(experiment, results, ["none"])
    assert choice_path(experiment, results).exists()
    planned = rates(Plans(experiment, results, ["none", "batch"]).expected_plan())
    assert len(planned) == 8
    assert (planned["none", 128, 0], planned["none", 8, 0]) == (0.5, 0.1)
    assert {rate for (arm, *_), rate in planned.items() if arm == "batch"} == {0.1}


WRONG = {
    "no axis": ({"per": ["batchsize"]}, "select.per: axis 'batchsize' does not exist; .*did you mean batch_size"),
    "the seed": ({"per": ["seed"]}, "select.per: axis 'seed' does not exist"),
    "with arm": ({"arm": "none"}, "give either arm or per"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_choice_per_axis_is_checked(change: dict[str, Any], message: str) -> None:
    data = copy.deepcopy(DATA)
    data["select"] |= change
    with pytest.raises(UserError, match=message):
        parse("x", "cpu", data)
