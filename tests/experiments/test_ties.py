"""`select.ties`: further seeds for the best two of a choice, where these lie within noise, and for nothing else."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from killed import KILLED, command, run_until
from made_up import MADE_UP, assert_unsound, finish, planned, selecting
from parsed import parse

from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.freeze import changes_since_frozen, freeze, frozen_path, frozen_text
from normexp.experiments.selection import choice_path, read_choice, read_selection, undecided_choices, write_choice
from normexp.report.experiment.render import selection_text

ARMS = ["none", "batch"]
DATA: dict[str, Any] = {
    **MADE_UP,
    "common": {"dataset": "digits", "dataset.validation": 180, "model": "mlp", "steps": 8},
    "grid": {"seed": [0, 1]},
    "select": {"search": {"optim.lr": [0.1, 0.2, 0.5]}, "seeds": [100], "metric": "validation/accuracy",
               "ties": [101, 102]},
    "table": {"columns": ["test/accuracy"]},
    "scales": {"cpu": None},
}  # fmt: skip
TIED = {0.1: "0.90", 0.2: "0.91", 0.5: "0.89"}  # the standard error of a difference is 3 points
APART = {0.1: "0.5", 0.2: "0.91", 0.5: "0.4"}
HALVED = {"search": {"optim.lr": [0.1, 0.2, 0.5]}, "halving": {"steps": [2, 8], "keep": [2]}}


@pytest.fixture
def experiment() -> Experiment:
    return parse("x", "cpu", DATA)


def further(*scores: str) -> dict[Any, str]:
    """Return the scores of the best two of TIED with the further seeds: rate 0.1 first."""
    return dict(zip([(rate, seed) for rate in (0.1, 0.2) for seed in (101, 102)], scores, strict=True))


# --- What is trained, and what is chosen. ---


def test_the_best_two_train_with_the_further_seeds_at_the_settings_of_their_trials(experiment, results):
    finish(experiment, results, 0, TIED)
    cells = planned(experiment, results, 1)
    assert [(cell.config["optim"]["lr"], cell.config["seed"]) for cell in cells] == [
        (0.2, 101), (0.2, 102), (0.1, 101), (0.1, 102)
    ]  # fmt: skip
    assert cells[0].path == run_place(results, experiment, "none", (("optim.lr", 0.2), ("seed", 101)), "select")
    usual = planned(experiment, results, 0)[1].config.changes
    assert cells[0].config.changes == {**usual, "seed": 101}


CHOICES = {
    "the other one of the two": (further("0.95", "0.95", "0.85", "0.85"), 0.1),
    "the same one": (further("0.85", "0.85", "0.95", "0.95"), 0.2),
    "not a third with a better mean": (further("0.6", "0.6", "0.5", "0.5"), 0.1),
    "diverged is worst": (further("0.4", "0.4", "0.95", "diverged"), 0.1),
    "of equals the smaller": (further("0.91", "0.90", "0.90", "0.90"), 0.1),
}


@pytest.mark.parametrize(("scores", "rate"), CHOICES.values(), ids=CHOICES)
def test_the_better_mean_over_all_seeds_of_the_two_is_chosen(experiment, results, scores, rate):
    finish(experiment, results, 0, TIED)
    finish(experiment, results, 1, scores)
    write_choice(experiment, results, ["none"])
    assert read_choice(experiment, results) == {"none": {"optim.lr": rate}}


def test_of_equals_the_lower_loss_over_all_seeds_is_chosen(experiment, results):
    losses = {(0.1, 100): "0.1", (0.1, 101): "0.9", (0.1, 102): "0.9"}  # the mean of rate 0.2 is 0.5
    for rung in (0, 1):
        finish(experiment, results, rung, dict.fromkeys((0.1, 0.2, 0.5), "0.9"))
        for cell in planned(experiment, results, rung):
            loss = losses.get((cell.config["optim"]["lr"], cell.config["seed"]), "0.5")
            (cell.path / "metrics.csv").write_text(f"step,validation/accuracy,validation/loss\n8,0.9,{loss}\n")
    write_choice(experiment, results, ["none"])
    assert read_choice(experiment, results) == {"none": {"optim.lr": 0.2}}


def test_all_is_recorded_and_three_seeds_are_enough(experiment, results):
    finish(experiment, results, 0, TIED)
    finish(experiment, results, 1, further("0.9", "0.9", "0.9", "0.92"))
    write_choice(experiment, results, ["none"])
    record = read_selection(experiment, results)
    tried = record["tried"]["none"]
    assert [(trial["values"]["optim.lr"], trial.get("seeds"), trial["scores"]) for trial in tried] == [
        (0.1, None, [0.9]), (0.2, None, [0.91]), (0.5, None, [0.89]),
        (0.2, [100, 101, 102], [0.91, 0.9, 0.92]), (0.1, [100, 101, 102], [0.9, 0.9, 0.9]),
    ]  # fmt: skip
    notes = json.loads(choice_path(experiment, results).read_text())["notes"]
    assert notes == {"none": ["the best two lay within noise and were trained with seeds 101, 102, too"]}
    assert undecided_choices(experiment, record) == []
    rows = list(csv.DictReader(selection_text(experiment, results)["selection.csv"].splitlines()))
    assert list(rows[0])[2:] == [f"validation/accuracy seed={seed}" for seed in (100, 101, 102)] + ["chosen"]
    assert [[*row.values()][2:] for row in rows[1:4]] == [
        ["0.91", "", "", "yes"], ["0.89", "", "", ""], ["0.91", "0.9", "0.92", "yes"]
    ]  # fmt: skip


def test_without_a_tie_nothing_is_trained_and_nothing_recorded(experiment, results):
    finish(experiment, results, 0, APART)
    assert planned(experiment, results, 1) == []
    write_choice(experiment, results, ["none"])
    with_ties = choice_path(experiment, results).read_bytes()
    write_choice(parse("x", "cpu", selecting(DATA, ties=[])), results, ["none"])
    assert choice_path(experiment, results).read_bytes() == with_ties


def test_only_the_choice_whose_best_two_lie_within_noise_costs_more(experiment, results):
    finish(experiment, results, 0, TIED, "none")
    finish(experiment, results, 0, APART, "batch")
    assert {cell.path.parent.name for cell in planned(experiment, results, 1, *ARMS)} == {"none"}


def test_of_two_that_are_second_the_one_that_would_train_on_is_compared(results):
    """Their means are the same, .805: the one scatters, so that only it lies within noise of the best."""
    experiment = parse("x", "cpu", selecting(DATA, seeds=[98, 99, 100]))
    seeds = experiment.select.seeds
    scores = {0.1: ("0.90", "0.905", "0.91"), 0.2: ("0.80", "0.805", "0.81"), 0.5: ("0.70", "0.805", "0.91")}
    finish(experiment, results, 0, {(rate, seed): own for rate, each in scores.items()
                                    for seed, own in zip(seeds, each, strict=True)})  # fmt: skip
    assert planned(experiment, results, 1) == []


def test_a_single_further_seed_that_does_not_tell_leaves_the_choice_marked(results):
    experiment = parse("x", "cpu", selecting(DATA, ties=[101]))
    finish(experiment, results, 0, TIED)
    finish(experiment, results, 1, {0.1: "0.92", 0.2: "0.90"})
    write_choice(experiment, results, ["none"])
    assert read_choice(experiment, results) == {"none": {"optim.lr": 0.1}}
    assert undecided_choices(experiment, read_selection(experiment, results)) == ["none"]


@pytest.mark.parametrize(("scores", "tied"), [({0.1: "0.905", 0.2: "0.915", 0.5: "0.1"}, False), (TIED, True)])
def test_with_several_seeds_noise_is_that_of_the_paired_difference(results, scores, tied):
    experiment = parse("x", "cpu", selecting(DATA, seeds=[98, 99, 100]))
    spread = {(0.1, 98): "0.93", (0.2, 98): "0.90"} if tied else {(0.1, 98): "0.904", (0.2, 98): "0.913"}
    finish(experiment, results, 0, {**scores, **spread})
    assert bool(planned(experiment, results, 1)) is tied


def test_after_a_halving_the_last_rung_decides_who_is_tied(results):
    experiment = parse("x", "cpu", selecting(DATA, **HALVED))
    finish(experiment, results, 0, {0.1: "0.3", 0.2: "0.3", 0.5: "0.9"})
    assert len(planned(experiment, results, 1)) == 2
    finish(experiment, results, 1, {0.1: "0.90", 0.5: "0.91"})
    assert {(cell.config["optim"]["lr"], cell.config["seed"], cell.config["steps"]) for cell in planned(
        experiment, results, 2)} == {(rate, seed, 8) for rate in (0.1, 0.5) for seed in (101, 102)}  # fmt: skip
    finish(experiment, results, 2, {0.1: "0.95", 0.5: "0.85"})
    write_choice(experiment, results, ["none"])
    assert read_choice(experiment, results) == {"none": {"optim.lr": 0.1}}
    tried = read_selection(experiment, results)["tried"]["none"]
    assert [(trial["steps"], len(trial["scores"])) for trial in tried] == [(2, 1)] * 3 + [(8, 1)] * 2 + [(8, 3)] * 2


def test_a_record_with_fewer_scores_than_seeds_is_damaged(experiment, results):
    finish(experiment, results, 0, TIED)
    finish(experiment, results, 1, further(*["0.9"] * 4))
    write_choice(experiment, results, ["none"])
    path = choice_path(experiment, results)
    record = json.loads(path.read_text())
    record["tried"]["none"][-1]["scores"].pop()
    path.write_text(json.dumps(record))
    with pytest.raises(Exception, match="damaged; delete it, `normexp reproduce` writes it from the runs"):
        read_selection(experiment, results)


# --- The command line. ---


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """An experiment, two rates of which score nearly the same on 180 images; a third learns nothing."""
    path = tmp_path / "own.yaml"
    data = selecting(DATA, search={"optim.lr": [0.1, 0.11, 1e-9]}) | {"arms": {"none": {"norm": "none"}}}
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def words(own: Path, *more: str) -> tuple[str, ...]:
    where = f"results_dir={own.parent / 'results'}"
    return "reproduce", str(own), "jobs=1", "threads=1", "device=cpu", where, *more


def test_reproduce_says_trains_and_records_the_further_seeds(cli, own, workers_here):
    status, table, said = cli(*words(own))
    assert status == 0, said
    assert "choosing optim.lr, then at most 4 runs with seeds 101, 102 where the best two lie within noise" in said
    assert "choosing optim.lr, seeds 101, 102 for the best two, which lie within noise: none" in said
    assert "would tell" not in said
    assert "- Of the choices: the best two lay within noise and were trained with seeds 101, 102, too (none)." in table


@pytest.mark.slow
def test_a_selection_that_was_killed_among_the_further_seeds_goes_on_to_the_same_bytes(cli, own, workers_here):
    folder = own.parent / "results" / "own" / "cpu"
    run = folder / "select" / "none" / "optim.lr=0.11,seed=101"
    status, operations = run_until(None, command(*words(own)), run)
    assert (status, operations > 10) == (0, True)
    whole = made(folder)
    assert sum("metrics.csv" in name for name in whole) == 3 + 4 + 2
    for dies, left in ((0, "2 finished, 2 new"), (5, "2 finished, 1 new, 1 to resume"), (operations - 1, "3 finished")):
        shutil.rmtree(folder)
        assert run_until(dies, command(*words(own)), run)[0] == KILLED
        assert not choice_path(parse("own", "cpu", DATA), own.parent / "results").exists()
        _, _, said = cli(*words(own, "--dry-run"))
        assert f"4 runs: {left}" in said
        assert run_until(None, command(*words(own)), run)[0] == 0
        assert made(folder) == whole, dies


def made(folder: Path) -> dict[str, bytes]:
    """Return what the runs recorded, what was chosen, and the table."""
    found = [*folder.rglob("metrics.csv"), folder / "chosen.json", folder / "selection.csv", folder / "table.md"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_ties_declared_after_the_runs_cost_only_these(cli, own, workers_here):
    data = yaml.safe_load(own.read_text())
    own.write_text(yaml.safe_dump({**data, "select": {**data["select"], "ties": []}}, sort_keys=False))
    _, _, said = cli(*words(own))
    assert (
        "the best two lie within noise, three seeds in select.seeds, or further ones in select.ties, would tell" in said
    )
    own.write_text(yaml.safe_dump(data, sort_keys=False))
    status, _, said = cli(*words(own, "--dry-run"))
    assert status == 0
    assert [line for line in said.splitlines() if "runs:" in line] == [
        "normexp: 3 runs: 3 finished, 0 new, 0 to resume",
        "normexp: 4 runs: 0 finished, 4 new, 0 to resume",
        "normexp: 2 runs: 2 finished, 0 new, 0 to resume",
    ]
    assert "would tell" not in said
    (change,) = changes_since_frozen(parse("own", "cpu", data), own.parent / "results")
    assert str(change) == "further selection seeds were changed after the first trial: nothing before, 101-102 now"


# --- What is declared. ---


def test_a_record_from_before_there_were_ties_is_not_changed_by_them(experiment, tmp_path):
    usual = parse("x", "cpu", selecting(DATA, ties=[]))
    path = freeze(usual, tmp_path)
    assert path == frozen_path(usual, tmp_path)
    declared = json.loads(path.read_text())["declared"]
    del declared["further selection seeds"]
    path.write_text(frozen_text(declared, None, "2026-01-01"))
    assert changes_since_frozen(usual, tmp_path) == []
    assert len(changes_since_frozen(experiment, tmp_path)) == 1


def test_a_scale_has_ties_of_its_own_or_none():
    scales = {"cpu": {"select": {"ties": [103]}}, "desk": {"select": {"ties": []}}, "paper": None}
    found = {scale: parse("x", scale, {**DATA, "scales": scales}).select for scale in scales}
    assert {scale: select.ties for scale, select in found.items() if select} == {
        "cpu": [103], "desk": [], "paper": [101, 102]
    }  # fmt: skip


MISTAKES = {
    "of the seeds": (selecting(DATA, ties=[101, 100]), "select.ties: 100 is one of the seeds of every trial, too"),
    "of the grid": (selecting(DATA, ties=[101, 1]), "select.ties: 1 is a seed of the grid, too; choose with others"),
    "twice": (selecting(DATA, ties=[101, 101]), "select.ties: [101, 101]: a seed stands there twice"),
    "no list": (selecting(DATA, ties=101), "select.ties: 101 is not a list"),
    "no seed": (selecting(DATA, ties=[-1]), "seed=-1"),
    "misspelt": (selecting(DATA, tie=[101]), "did you mean ties?"),
    "with a sampler": (
        selecting(DATA, search={"optim.lr": "interval(0.1,1)"}, sampler={"name": "random", "trials": 3}),
        "select.ties: give either sampler or ties",
    ),
    "by the loss of one seed": (selecting(DATA, metric="validation/loss"), "one seed does not say what is noise"),
    "of a share of images": (
        {**DATA, "common": {**DATA["common"], "dataset.validation": 0.1}},
        "an accuracy with a number of images as dataset.validation",
    ),
    "at a scale": (
        {**DATA, "scales": {"cpu": {"select": {"ties": [100]}}}},
        "scales.cpu.select.ties: 100 is one of the seeds",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), MISTAKES.values(), ids=MISTAKES)
def test_ties_that_cannot_be_meant_are_one_line(data, message):
    assert_unsound(data, message)


def test_two_seeds_say_what_is_noise_in_a_loss():
    assert parse("x", "cpu", selecting(DATA, metric="validation/loss", seeds=[99, 100])).select is not None
