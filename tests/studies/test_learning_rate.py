"""The largest stable rate against theory; training again from the same start."""

import numpy as np
import pytest

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies.base import StudyContext
from normexp.studies.learning_rate import LearningRate, Trials, least_squares_error

COMMON = (
    "study=learning_rate", "dataset=house_prices", "dataset.examples=400", "model=linear", "optim=sgd",
    "optim.momentum=0", "steps=60", "eval_every=20",
)  # fmt: skip


def setup(*overrides: str) -> StudyContext:
    return StudyContext(compose([*COMMON, *overrides]))


@pytest.mark.parametrize("inputs", ["none", "standardize"])
def test_largest_rate_of_full_batches_is_one_over_the_largest_curvature(inputs):
    given = setup(f"inputs={inputs}", "batch_size=100")
    x = given.components.batches.examples.x.double().numpy()
    design = np.column_stack([x, np.ones(len(x))])
    curvature = np.linalg.eigvalsh(design.T @ design / len(x))[-1]  # of half the mean squared error
    (row,) = LearningRate(trial=100, bisections=12, rates=1).measure(given).rows
    assert row["largest_rate"] == pytest.approx(1 / curvature, rel=0.02)


def test_least_squares_error_does_not_depend_on_the_scale_of_the_target():
    scaled, plain = (setup(f"dataset.standardize_target={text}").data for text in ("true", "false"))
    assert least_squares_error(scaled) == pytest.approx(least_squares_error(plain), rel=1e-5)


def test_every_rate_starts_from_the_same_weights():
    trials = Trials(setup())
    first = trials.curve(0.01)
    trials.curve(0.1)
    assert trials.curve(0.01) == first
    assert [steps for steps, _, _ in first] == [20, 40, 60]


@pytest.mark.slow
def test_best_rate_is_one_of_those_tried_and_meets_the_target():
    (row,) = LearningRate(rates=3, factor=4.0).measure(setup("dataset.examples=1000", "steps=200")).rows
    assert row["largest_rate"] / row["best_rate"] in (1, 4, 16)
    assert row["steps_to_target"] <= 200
    assert row["test_rmse"] < 2 * row["target_rmse"]


def test_raw_inputs_reach_nothing_in_so_few_steps():
    (row,) = LearningRate(rates=2).measure(setup("inputs=none")).rows
    assert row["steps_to_target"] == np.inf


def test_a_rate_is_not_chosen_on_the_test_split():
    with pytest.raises(UserError, match=r"dataset\.validation=0"):
        LearningRate().measure(setup("dataset.validation=0"))


def test_classes_have_no_least_squares_target():
    with pytest.raises(UserError, match="dataset=digits is no regression"):
        LearningRate().measure(StudyContext(compose(["study=learning_rate", "dataset=digits", "model=linear"])))


def test_population_estimates_are_made_before_every_evaluation():
    network = ("model=mlp", "model.widths=[8]", "norm=batch", "norm.estimates=population", "steps=2", "eval_every=2")
    trials = Trials(setup(*network))
    (curve,) = trials.curve(0.01)
    model = trials.components.model
    moved = [each.running_mean for each in model.modules() if hasattr(each, "running_mean")]
    assert moved
    assert all(each.num_batches_tracked == 1 for each in model.modules() if hasattr(each, "num_batches_tracked"))
    assert curve[0] == 2


@pytest.mark.parametrize("low", [1.0, 0.001])
def test_rates_are_bisected_upwards(low):
    with pytest.raises(UserError, match=rf"study\.low={low:g}: must be below study\.high=0\.001"):
        LearningRate(low=low, high=0.001).measure(setup())
