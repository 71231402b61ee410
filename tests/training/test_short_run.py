"""Options that count updates, and running averages, in a run that is over before they are reached or settled."""

from types import SimpleNamespace

import pytest

from normexp.config import compose, option, options
from normexp.records import UNREACHED, find_runs
from normexp.training.checks.short_run import unreached, unsettled

POPULATION = "norm.activations.estimates=population"
RENORM = ("norm.warmup=5000", "norm.rmax_at=40000", "norm.dmax_at=25000")


def said(function, steps, *overrides):
    components = SimpleNamespace(steps=steps, batches=SimpleNamespace(batch_size=64))
    return function(compose([*overrides]), components)


@pytest.mark.parametrize("name", [name for name in options("norm") if "_waits_" in option("norm", name)])
def test_every_option_that_waits_is_missed_in_a_run_that_is_shorter_and_there_alone(name):
    for key, until in option("norm", name)["_waits_"].items():
        others = [f"norm.{other}=0" for other in option("norm", name)["_waits_"] if other != key]
        chosen = (f"norm={name}", f"norm.{key}=50", *others)
        assert said(unreached, 49, *chosen) == f"norm={name}: norm.{key}=50 outlasts the run of 49 updates: {until}"
        assert said(unreached, 50, *chosen) == ""


def test_batch_renorm_in_a_run_shorter_than_its_warm_up_is_said_to_be_batch_norm():
    told = said(unreached, 440, "norm=batch_renorm")
    assert told.startswith(f"norm=batch_renorm: {', '.join(RENORM)} outlast the run of 440 updates: ")
    assert told.endswith("what is trained is batch normalization; for so short a run lower them, and raise momentum")


def test_it_is_said_of_a_part_of_a_stack_too():
    told = said(unreached, 440, "norm=stack", "norm.weights=weight", "norm.activations=batch_renorm")
    assert told.startswith("norm=stack: norm.activations.warmup=5000, norm.activations.rmax_at=40000, ")


@pytest.mark.parametrize("name", options("norm"))
def test_nothing_is_said_of_a_run_that_is_long_enough(name):
    assert said(unreached, 40000, f"norm={name}") == said(unsettled, 440, f"norm={name}") == ""


@pytest.mark.parametrize("name", [name for name in options("norm") if "momentum" in option("norm", name)])
def test_every_scheme_with_running_averages_says_that_they_have_not_settled(name):
    more = ["norm.estimates=running"] if "estimates" in option("norm", name) else []
    told = said(unsettled, 30, f"norm={name}", "norm.momentum=0.0001", *more)
    assert told.startswith("norm.momentum=0.0001: at the end of the run ")


@pytest.mark.parametrize(
    ("overrides", "share"),
    [
        (["norm=batch", "norm.momentum=0.02"], "30 updates: 0.98^30 = 55 %"),
        (["norm=batch_renorm"], "0.99^30 = 74 %"),
        (["norm=ghost_batch", "norm.chunk_size=16", "norm.momentum=0.005"], "four chunks an update: 0.995^120 = 55 %"),
        (["norm=ghost_batch", "norm.chunk_size=128", "norm.momentum=0.02"], "no more than the batch: 0.98^30 = 55 %"),
        (["norm=online", "norm.momentum=0.0003"], "64 examples an update: 0.9997^1920 = 56 %"),
        (["norm=weight_mean_only", "norm.activations.momentum=0.02"], "0.98^30 = 55 %"),
    ],
)
def test_the_share_of_the_start_counts_what_moves_the_averages(overrides, share):
    assert f"of the run {share.rpartition('= ')[2]} of the running estimates" in said(unsettled, 30, *overrides)


@pytest.mark.parametrize(
    ("overrides", "steps"),
    [
        (["norm=stack", "norm.activations=batch", POPULATION], 30),
        (["norm=batch", "norm.momentum=0.02", "norm.running=source", "norm.bias_correction=true"], 30),
        (["norm=recurrent_batch", "norm.momentum=0.02", "norm.estimates=batch"], 30),
        (["norm=batch"], 5),  # a trial
    ],
)
def test_nothing_is_said_where_no_evaluation_suffers_by_the_start(overrides, steps):
    assert said(unsettled, steps, *overrides) == ""


def test_a_scheme_of_ours_without_its_option_has_its_defaults():
    own = ("norm._target_=normexp.norms.BatchRenorm", "plugins=[normexp]")
    assert "norm.warmup=5000" in said(unreached, 440, *own)


@pytest.mark.slow
def test_a_run_says_both_trains_and_records_the_first(cli, results):
    words = ("norm=batch_renorm,batch", "model=mlp", "model.widths=[8]", "steps=20", "threads=1", "recipe=none")
    status, _, stderr = cli("sweep", *words, f"results_dir={results}", "--jobs", "1")
    outlast = f"norm=batch_renorm: {', '.join(RENORM)} outlast the run of 20 updates"
    first = f"{outlast}: what is trained is batch normalization"
    assert status == 0
    assert stderr.count(first) == stderr.count("82 % of the running estimates") == 1
    assert [run.environment.get(UNREACHED) for run in find_runs([results])] == [None, first]
    assert cli("table", str(results))[1].count(f"Warning: {first}.") == 1
