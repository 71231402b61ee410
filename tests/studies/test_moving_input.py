"""Inputs that move while a network trains, and the distance of distributions."""

import math
from itertools import islice

import numpy as np
import pytest
import torch
from studies.measured import measured

from normexp.data.inputs import Affine
from normexp.errors import UserError
from normexp.studies.moving_input import Moving, shift
from normexp.training.batches import Examples, TrainingBatches

SMALL = ("study=moving_input", "dataset.validation=0", "model=mlp", "inputs=standardize", "steps=8",
         "study.evaluations=4", "threads=1")  # fmt: skip
STILL = ("optim.lr=1e-12", "optim.momentum=0")


@pytest.fixture
def batches():
    x = np.arange(40, dtype=np.float32).reshape(10, 4)
    examples = Examples(x, np.arange(10), Affine(np.ones(1), np.zeros(1)), torch.device("cpu"))
    return TrainingBatches(examples, 3, seed=5)


def rows(*overrides):
    return measured(*SMALL, *overrides).rows


def test_every_update_finds_its_inputs_one_pace_further(batches):
    own = list(islice(batches.from_step(0), 7))
    moved = list(islice(Moving(batches, 0.5).from_step(0), 7))
    for step, ((x, y), (far, same)) in enumerate(zip(own, moved, strict=True), start=1):
        torch.testing.assert_close(far, x + 0.5 * step)
        assert torch.equal(y, same)


def test_a_later_step_can_be_the_first(batches):
    behind = next(Moving(batches, 0.5).from_step(4))
    torch.testing.assert_close(behind, list(islice(Moving(batches, 0.5).from_step(0), 5))[4])


def test_shift_is_in_standard_deviations():
    before = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 4.0])
    now = torch.tensor([3.0, 1.0]), torch.tensor([17.0, 4.0])
    assert shift(before, now) == pytest.approx(math.sqrt((9 / 9 + 0) / 2))


def test_a_constant_that_stays_has_no_shift_and_one_that_moves_has_no_measure():
    zero, one, none = torch.zeros(1), torch.ones(1), torch.zeros(1)
    assert shift((one, none), (one, none)) == 0
    assert shift((zero, none), (one, none)) == math.inf


def test_the_first_evaluation_is_no_row():
    assert [row["step"] for row in rows()] == [4, 6, 8]


def test_where_neither_inputs_nor_weights_move_nothing_shifts():
    assert all(row["largest_shift"] < 1e-6 for row in rows("study.drift=0", *STILL))


def test_fixed_weights_shift_as_far_as_the_inputs_move():
    near, far = rows("study.drift=1", *STILL), rows("study.drift=2", *STILL)
    for one, two in zip(near, far, strict=True):
        assert two["first_shift"] == pytest.approx(2 * one["first_shift"], rel=1e-5)
        assert one["largest_shift"] >= max(one["first_shift"], one["last_shift"])


@pytest.mark.slow
def test_batch_normalization_follows_inputs_that_move_alike():
    """Its averages stay behind by as much at every update: after many of them nothing shifts any more."""
    long = ("steps=400", "study.evaluations=40", "study.drift=100", *STILL)
    last = {norm: rows(*long, f"norm={norm}")[-1]["first_shift"] for norm in ("none", "batch")}
    assert last["batch"] < 0.05 * last["none"]


def test_layer_normalization_does_not():
    last = {norm: rows("study.drift=1", *STILL, f"norm={norm}")[-1]["first_shift"] for norm in ("none", "layer")}
    assert last["layer"] > 0.5 * last["none"]


def test_maps_have_channels_for_units():
    assert all(0 < row["largest_shift"] < math.inf for row in rows("model=cnn", "model.widths=[4,4,4,4]", "norm=batch"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("dataset=house_prices",), "needs classes; these data have none, their metric is rmse"),
        (("model=linear",), "no nonlinearity"),
        (("study.evaluations=9",), r"study.evaluations=9: more than the updates, steps=8"),
    ],
)
def test_what_does_not_fit_is_refused(overrides, message):
    with pytest.raises(UserError, match=message):
        rows(*overrides)
