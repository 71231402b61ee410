"""The choice of hyperparameters, from made-up runs; a record of it is never trusted as configuration."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_up import every_point
from one_line import one_line_error

from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.load import load
from normexp.experiments.noise import noise_is_unknown, within_noise
from normexp.experiments.plans import Plans
from normexp.experiments.selection import (
    choice_path,
    read_choice,
    read_selection,
    recorded_selection,
    undecided_choices,
    write_choice,
)
from normexp.experiments.trials import Choosing, combinations, trials
from normexp.records import RunDirectory, final_score
from normexp.report.experiment.render import _chosen, selection_text

NAME = "ioffe2015_figure1"


def strict(path: Path) -> dict[str, Any]:
    """Read JSON that has no NaN and no infinity."""
    loaded: dict[str, Any] = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(word))
    return loaded


@pytest.fixture
def experiment() -> Experiment:
    """The experiment with two selection seeds and three rates."""
    return with_selection(load(NAME, "smoke"), search={"optim.lr": [0.1, 0.5, 0.9]}, seeds=[100, 101])


def with_selection(experiment: Experiment, **update: Any) -> Experiment:
    assert experiment.select is not None
    return replace(experiment, select=experiment.select.model_copy(update=update))


def fabricate(
    experiment: Experiment, results: Path, arm: str, finals: list[str], losses: list[float] | None = None
) -> None:
    """Make a finished run for every point of the selection; `diverged` is one that diverged."""
    assert experiment.select is not None
    for point, final, loss in zip(every_point(experiment.select), finals, losses or [1.0] * len(finals), strict=True):
        place = run_place(results, experiment, arm, point, "select")
        place.mkdir(parents=True)
        status = "diverged" if final == "diverged" else "done"
        (place / "status.json").write_text(json.dumps({"status": status}))
        metrics, start, end = experiment.select.metric, "0.99", final
        if metrics == "validation/accuracy" and losses:
            metrics, start, end = f"{metrics},validation/loss", f"{start},2.3", f"{final},{loss}"
        rows = f"0,{start}\n" if status == "diverged" else f"0,{start}\n120,{end}\n"
        (place / "metrics.csv").write_text(f"step,{metrics}\n{rows}")


CHOICES = {
    "best mean": (["0.5", "0.5", "0.4", "0.7", "0.9", "0.1"], 0.5),
    "not the best single run": (["0.6", "0.6", "1.0", "0.1", "0.5", "0.6"], 0.1),
    "diverged is worst": (["0.1", "0.1", "1.0", "diverged", "0.0", "0.1"], 0.1),
    "not finite is worst": (["0.1", "0.1", "1.0", "nan", "inf", "0.9"], 0.1),
    "the smaller of equals": (["0.1", "0.2", "0.2", "0.1", "0.1", "0.1"], 0.1),
    "all diverged": (["diverged"] * 6, 0.1),
}


@pytest.mark.parametrize(("finals", "rate"), CHOICES.values(), ids=CHOICES)
def test_choice_is_the_best_mean(experiment, results, finals, rate):
    fabricate(experiment, results, "With BN", finals)
    write_choice(experiment, results, ["With BN"])
    assert read_choice(experiment, results) == {"With BN": {"optim.lr": rate}}
    written = strict(choice_path(experiment, results))
    assert len(written["tried"]["With BN"]) == 3


def test_choice_by_a_loss_is_the_lowest(experiment, results):
    experiment = with_selection(experiment, metric="validation/loss")
    fabricate(experiment, results, "With BN", ["0.3", "0.3", "0.2", "0.2", "diverged", "0.0"])
    write_choice(experiment, results, ["With BN"])
    assert read_choice(experiment, results) == {"With BN": {"optim.lr": 0.5}}


def test_choice_keeps_the_scores_and_those_of_other_arms(experiment, results):
    fabricate(experiment, results, "With BN", ["0.25", "0.75", "0.5", "diverged", "0.125", "0.125"])
    fabricate(experiment, results, "Without BN", ["0.1"] * 6)
    write_choice(experiment, results, ["Without BN"])
    write_choice(experiment, results, ["With BN"])
    assert set(read_choice(experiment, results)) == {"With BN", "Without BN"}
    found = [
        (trial["values"]["optim.lr"], trial["scores"], trial["mean"])
        for trial in trials(Choosing(experiment, results, "With BN"), combinations(experiment.select))
    ]
    assert found == [(0.1, [0.25, 0.75], 0.5), (0.5, [0.5, None], None), (0.9, [0.125, 0.125], 0.125)]


def test_choices_with_other_seeds_are_dropped(experiment, results):
    """Half of a record would be of seeds that it does not have: a traceback in the report."""
    fabricate(experiment, results, "With BN", ["0.1"] * 6)
    fabricate(experiment, results, "Without BN", ["0.1"] * 6)
    write_choice(with_selection(experiment, seeds=[100]), results, ["With BN"])
    write_choice(experiment, results, ["Without BN"])
    assert set(read_choice(experiment, results)) == {"Without BN"}
    assert selection_text(experiment, results)["selection.csv"].count("Without BN") == 3


def test_a_choice_for_another_arm_than_today_is_none(experiment, results):
    fabricate(experiment, results, "With BN", ["0.1"] * 6)
    write_choice(experiment, results, ["With BN"])
    assert _chosen(with_selection(experiment, arm="Without BN"), results) == {}


def test_choice_for_one_arm_is_that_of_all(experiment, results):
    experiment = with_selection(experiment, arm="Without BN")
    plan = Plans(experiment, results, ["With BN"]).selection_plan(0)
    assert {cell.path.parent.name for cell in plan.cells} == {"Without-BN"}
    assert len(plan.cells) == 6
    fabricate(experiment, results, "Without BN", ["0.1", "0.1", "0.2", "0.2", "0.3", "0.3"])
    write_choice(experiment, results, ["With BN"])
    assert read_choice(experiment, results) == {arm: {"optim.lr": 0.9} for arm in ("Without BN", "With BN")}
    assert set(strict(choice_path(experiment, results))["tried"]) == {"Without BN"}


def test_choice_by_a_metric_that_was_not_recorded_is_refused(experiment, results):
    fabricate(experiment, results, "With BN", ["0.1"] * 6)
    place = run_place(results, experiment, "With BN", every_point(experiment.select)[0], "select")
    run = RunDirectory(place)
    assert math.isclose(final_score(run, "validation/accuracy"), 0.1)
    with pytest.raises(UserError, match="has no test/loss; it has step, validation/accuracy"):
        final_score(run, "test/loss")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"chosen": {}}'])
def test_choice_that_is_damaged_is_one_line(experiment, results, content):
    path = choice_path(experiment, results)
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(UserError, match="damaged"):
        read_choice(experiment, results)


# --- Ties, edges, noise. ---


def test_of_equals_the_lower_loss_is_chosen(experiment, results):
    accuracies = ["0.5", "0.5", "0.5", "0.5", "0.1", "0.1"]
    fabricate(experiment, results, "With BN", accuracies, losses=[0.8, 0.8, 0.6, 0.7, 0.1, 0.1])
    write_choice(experiment, results, ["With BN"])
    assert read_choice(experiment, results) == {"With BN": {"optim.lr": 0.5}}
    assert strict(choice_path(experiment, results))["notes"] == {"With BN": ["tied with optim.lr=0.1"]}


def test_means_that_differ_in_their_last_bits_are_equal(experiment, results):
    """The mean of 0.7 and 0.1 is a little less than that of 0.5 and 0.3."""
    fabricate(experiment, results, "With BN", ["0.7", "0.1", "0.5", "0.3", "0.1", "0.1"], losses=[0.6] * 2 + [0.8] * 4)
    write_choice(experiment, results, ["With BN"])
    assert read_choice(experiment, results) == {"With BN": {"optim.lr": 0.1}}
    assert strict(choice_path(experiment, results))["notes"]["With BN"][1:] == ["tied with optim.lr=0.5"]


def test_a_metric_in_whose_name_accuracy_only_ends_a_word_is_not_better_the_higher(experiment):
    assert experiment.select.highest
    assert not experiment.select.model_copy(update={"metric": "validation/inaccuracy"}).highest


def test_a_score_that_is_missing_is_none(experiment, results):
    """An empty cell of metrics.csv, which is what a curve has where nothing was measured, was a traceback."""
    fabricate(experiment, results, "With BN", [""] * 6)
    write_choice(experiment, results, ["With BN"])
    notes = strict(choice_path(experiment, results))["notes"]["With BN"]
    assert "no combination has a score: in each a run diverged" in notes


def test_of_equals_with_equal_losses_the_smaller_value_is_chosen(experiment, results):
    experiment = with_selection(experiment, search={"optim.lr": [0.9, 0.1, 0.5]})
    fabricate(experiment, results, "With BN", ["0.5"] * 6, losses=[0.8] * 6)
    write_choice(experiment, results, ["With BN"])
    assert read_choice(experiment, results) == {"With BN": {"optim.lr": 0.1}}


@pytest.mark.parametrize("final", ["0.5", "diverged"])
def test_of_equals_what_was_chosen_before_stays(experiment, results, final):
    """Otherwise the finished runs of older records would be stale."""
    fabricate(experiment, results, "With BN", [final] * 6, losses=[0.8] * 6)
    write_choice(experiment, results, ["With BN"])
    path = choice_path(experiment, results)
    record = strict(path)
    record["chosen"]["With BN"] = {"optim.lr": 0.9}
    path.write_text(json.dumps(record))
    write_choice(experiment, results, ["With BN"])
    assert read_choice(experiment, results) == {"With BN": {"optim.lr": 0.9}}


def test_where_every_combination_diverged_nothing_is_tied_and_the_first_is_run(experiment, results):
    fabricate(experiment, results, "With BN", ["diverged"] * 6)
    write_choice(experiment, results, ["With BN"])
    first, path = experiment.select.search["optim.lr"][0], choice_path(experiment, results)
    record = strict(path)
    assert record["chosen"] == {"With BN": {"optim.lr": first}}
    assert "no combination has a score: in each a run diverged" in record["notes"]["With BN"]
    assert not any("tied" in note for note in record["notes"]["With BN"])


@pytest.mark.parametrize(("second", "expected"), [("1.0", True), ("0.99", True), ("0.9", False)])
def test_an_accuracy_of_one_is_known_to_an_image_and_not_exactly(experiment, second, expected):
    tried = [{"values": {"optim.lr": lr}, "scores": [s], "mean": s} for lr, s in ((0.1, 1.0), (0.5, float(second)))]
    select = experiment.select.model_copy(update={"seeds": [0], "common": {"dataset.validation": 200}})
    assert within_noise(*tried, experiment, select) is expected


@pytest.mark.parametrize(("best", "edge"), [(0, True), (1, False), (2, True)])
def test_a_choice_at_the_edge_of_its_grid_is_marked(experiment, results, best, edge):
    finals = ["0.1"] * 6
    finals[2 * best : 2 * best + 2] = ["0.9", "0.9"]
    fabricate(experiment, results, "With BN", finals)
    write_choice(experiment, results, ["With BN"])
    assert ("is at the edge of its grid" in str(strict(choice_path(experiment, results))["notes"])) is edge


@pytest.mark.parametrize(
    ("seeds", "finals", "open_"),
    [
        ([100], ["0.90", "0.91", "0.50"], True),  # 180 images: standard error of 2 points
        ([100], ["0.70", "0.91", "0.50"], False),
        ([100, 101], ["0.90", "0.92", "0.91", "0.89", "0.1", "0.1"], True),
        ([100, 101], ["0.90", "0.92", "0.70", "0.721", "0.1", "0.1"], False),
        ([100, 101, 102], ["0.9"] * 9, False),
    ],
)
def test_a_choice_within_noise_wants_three_seeds(experiment, results, seeds, finals, open_):
    experiment = with_selection(experiment, seeds=seeds)
    fabricate(experiment, results, "With BN", finals)
    write_choice(experiment, results, ["With BN"])
    assert undecided_choices(experiment, recorded_selection(experiment, results)) == (["With BN"] if open_ else [])


@pytest.mark.parametrize(
    ("metric", "seeds", "unknown"),
    [("loss", [100], True), ("loss", [100, 101], False), ("accuracy", [100], False)],
)
def test_the_loss_of_one_seed_does_not_tell_its_noise(experiment, results, metric, seeds, unknown):
    experiment = with_selection(experiment, metric=f"validation/{metric}", seeds=seeds)
    assert recorded_selection(experiment, results) is None  # nothing was chosen yet
    assert noise_is_unknown(experiment.select) is unknown


# --- A stranger's record. ---


HOSTILE = {
    "a target": {"norm._target_": "os.system", "norm.command": "true", "optim.lr": 0.1},
    "a plugin": {"plugins": ["os"], "optim.lr": 0.1},
    "another key": {"optim.momentum": 0.9},
    "another value": {"optim.lr": 0.7},
    "another type": {"optim.lr": "0.1"},
    "a mapping": {"optim.lr": {"_target_": "os.system"}},
    "no key": {},
}


@pytest.mark.parametrize("values", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("where", ["chosen", "tried"])
def test_a_record_that_names_what_was_not_searched_is_refused(experiment, results, values, where):
    fabricate(experiment, results, "With BN", ["0.1"] * 6)
    write_choice(experiment, results, ["With BN"])
    path = choice_path(experiment, results)
    record = strict(path)
    if where == "chosen":
        record["chosen"]["With BN"] = values
    else:
        record["tried"]["With BN"][0]["values"] = values
    path.write_text(json.dumps(record))
    with one_line_error(r"not searched|not tried"):
        Plans(experiment, results, ["With BN"]).expected_plan()


def test_a_record_in_which_a_seed_has_no_score_is_damaged(experiment, results):
    fabricate(experiment, results, "With BN", ["0.1"] * 6)
    write_choice(experiment, results, ["With BN"])
    path = choice_path(experiment, results)
    record = strict(path)
    record["tried"]["With BN"][0]["scores"].pop()
    path.write_text(json.dumps(record))
    with one_line_error("damaged; delete it"):
        read_choice(experiment, results)


def test_what_was_tried_for_an_arm_without_a_choice_is_passed_over(experiment, results):
    fabricate(experiment, results, "With BN", ["0.1"] * 6)
    write_choice(experiment, results, ["With BN"])
    path = choice_path(experiment, results)
    path.write_text(json.dumps(strict(path) | {"chosen": {}}))
    assert read_selection(experiment, results)["tried"] == {}


def test_a_record_of_a_choice_by_another_metric_is_none_of_this_one(experiment, results):
    fabricate(experiment, results, "With BN", ["0.1"] * 6)
    write_choice(experiment, results, ["With BN"])
    by_loss = with_selection(experiment, metric="validation/loss")
    with pytest.raises(UserError, match="chosen by validation/accuracy, the experiment chooses by validation/loss; "):
        read_choice(by_loss, results)


def test_a_strangers_record_runs_no_code_under_dry_run(cli, results, tmp_path, workers_here):
    mark = tmp_path / "mark"
    values = {"norm._target_": "os.system", "norm.command": f"touch {mark}", "plugins": ["os"]}
    path = results / NAME / "smoke" / "chosen.json"
    path.parent.mkdir(parents=True)
    record = {"metric": "validation/accuracy", "seeds": [100], "tried": {}, "chosen": {"With BN": values}}
    path.write_text(json.dumps(record))
    status, _, stderr = cli("reproduce", NAME, "scale=smoke", "--dry-run", f"results_dir={results}")
    assert status == 2
    assert "norm._target_, norm.command, plugins was not searched; searched are optim.lr" in stderr
    assert not mark.exists()
