"""Every experiment of the repository is sound."""

import pytest

from normexp.config import option
from normexp.experiments.experiment import run_place
from normexp.experiments.figure_kinds import MODELS
from normexp.experiments.load import load, names, read, scales, usual_scale

EVERY = [(name, scale) for name in names() for scale in scales(name)]


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_experiment_is_sound(name, scale, tmp_path):
    """Loading composes every run and checks arms, metrics, figures and claims."""
    experiment = load(name, scale)
    places = {run_place(tmp_path, experiment, arm, point) for arm in experiment.arms for point in experiment.points()}
    assert len(places) == len(experiment.arms) * len(experiment.points())
    for_bench_halving = ("rates", "third_rates", "third_warmup", "whole_rates")
    of_one_seed = {f"which_norm_{each}" for each in for_bench_halving}
    assert experiment.claims or experiment.published or name in of_one_seed
    assert scale == "paper" or "paper" not in scales(name) or experiment.deviations


@pytest.mark.parametrize("name", [name for name in names() if "paper" in scales(name)])
def test_scale_paper_is_only_where_a_set_up_was_published(name):
    """It has printed numbers, or equalities of a document only, or is a published law, or follows a paper's figure that
    prints no number, or a summary's number of the paper's network, or the authors' program.
    """
    experiment = read(name, "paper")
    without_a_table = (
        "arpit2016_batch_size_1",
        "ba2016_figure6",
        "cooijmans2017_gamma",
        "hoffer2017_f1",
        "hoffer2017_f1_gains",
        "salimans2016_cost",
    )
    exact = all(claim.compare == "equals" for claim in experiment.claims)
    law = any(claim.compare in ("follows", "leaves") for claim in experiment.claims)
    assert exact or law or experiment.published or name in without_a_table


def test_experiment_figures_are_those_that_can_be_drawn():
    from normexp.report.figures.kinds import KINDS

    assert set(KINDS) == set(MODELS)


@pytest.mark.parametrize(
    ("name", "scale"),
    {"covariate_shift": "cpu", "ioffe2015_figure1": "cpu", "zhang2017": "desk", "law_rezero": "paper"}.items(),
)
def test_usual_scale_is_the_smallest_that_is_more_than_a_preview(name, scale):
    assert usual_scale(name) == scale


def test_a_figure_of_cross_entropies_says_their_unit():
    without = []
    for name in names():
        experiment = read(name, usual_scale(name))
        said = option("study", experiment.common.get("study", "none")).get("_metrics_", {})
        for figure in experiment.figures:
            metric = str(getattr(figure, "metric", ""))
            drawn = metric.endswith("/loss") or "cross-entrop" in said.get(metric, "")
            if drawn and not any("(nats" in label for label in figure.labels.values()):
                without.append(f"{name}, {figure.name}")
    assert without == []
