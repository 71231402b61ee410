"""What a scale lays over the rest of an experiment."""

import copy

from changed_experiments import SOUND
from one_line import one_line_error
from parsed import parse

from normexp.experiments.experiment import point_name


def test_experiment_scale_is_laid_over_the_rest():
    smoke, cpu = parse("x", "smoke", SOUND), parse("x", "cpu", SOUND)
    assert [point_name(point) for point in smoke.points()] == [
        f"seed={seed},batch_size={size}" for seed in (0, 1) for size in (8, 16)
    ]
    assert [point_name(point) for point in cpu.points()] == ["seed=0,batch_size=8", "seed=0,batch_size=16"]
    assert cpu.common == {**smoke.common, "threads": 1}


def test_a_scale_says_its_set_up_behind_the_experiments_or_in_its_place():
    def about(**own: str) -> str:
        return parse("x", "cpu", {**SOUND, "scales": {"cpu": {"underpowered": "a test", **own}}}).about

    assert [about(), about(here="Here less."), about(about="Another.")] == [
        "A set-up.",
        "A set-up. Here less.",
        "Another.",
    ]
    with one_line_error(r"scales\.cpu: about and here: give one of the two"):
        about(here="Here less.", about="Another.")


def test_experiment_run_takes_common_arm_choice_and_point_in_this_order():
    experiment = parse("x", "smoke", SOUND)
    config = experiment.config("With BN", experiment.points()[-1], {"optim.lr": 0.25, "batch_size": 3})
    assert (config.choices["norm"], config["optim"]["lr"], config["batch_size"], config["seed"]) == (
        "batch",
        0.25,
        16,
        1,
    )


def test_steps_of_a_scale_may_stand_in_for_epochs():
    data = copy.deepcopy(SOUND)
    data["common"] = {"dataset": "digits", "model": "mlp", "epochs": 2}
    data["scales"]["smoke"] = {"common": {"steps": 3}}
    assert parse("x", "smoke", data).config("Plain", (("seed", 0),))["steps"] == 3


def test_eval_every_of_the_trials_may_stand_in_for_evals_per_epoch_of_the_runs():
    data = copy.deepcopy(SOUND)
    data["common"] = {"dataset": "digits", "model": "mlp", "epochs": 2, "evals_per_epoch": 2}
    data["select"]["common"] = {"eval_every": 1}
    parse("x", "smoke", data)


def test_labels_may_name_all_that_a_figure_shows():
    data = copy.deepcopy(SOUND)
    words = ("x", "y", "Plain", "batch_size", "batch_size=8", "16", "seed", "test/loss")
    data["figures"][0]["labels"] = dict.fromkeys(words, "words")
    parse("x", "smoke", data)


def test_a_scale_lays_overrides_over_single_arms():
    data = copy.deepcopy(SOUND)
    data["arms"]["With BN"]["norm.eps"] = 1e-3
    data["scales"]["cpu"]["arms"] = {"With BN": {"norm.var": "unbiased", "norm.eps": 1e-4}}
    usual, own = parse("x", "smoke", data), parse("x", "cpu", data)
    assert usual.arms == data["arms"]
    assert own.arms == {
        "Plain": {"norm": "none"},
        "With BN": {"norm": "batch", "norm.eps": 1e-4, "norm.var": "unbiased"},
    }
    assert list(own.arms) == ["Plain", "With BN"]
    found = [each.config("With BN", each.points()[0])["norm"]["var"] for each in (usual, own)]
    assert found == ["biased", "unbiased"]
