"""The noise of updates, and how far weights go."""

import math
import re
import weakref

import numpy as np
import pytest
import torch
from measured import measured

from normexp.errors import UserError
from normexp.studies.update_noise import variance
from normexp.studies.weight_distance import line, misfits


def test_updates_without_noise_have_no_relative_one():
    one = ("dataset=digits", "dataset.subset=1", "norm=none", "model.widths=[2]", "study.batches=[1,2]")
    rows = measured("study=update_noise", *one, "study.draws=2").rows
    assert [row["noise"] for row in rows] == [0, 0]
    assert all(math.isnan(row["relative"]) for row in rows)


@pytest.mark.slow
def test_update_noise_is_constant_for_the_root_of_the_batch_size():
    small = ("study=update_noise", "model=mlp", "model.widths=[16]", "study.batches=[32,128]", "study.draws=48")
    for scaling, expected in (("root", 1.0), ("linear", 4.0), ("none", 0.25)):
        relative = [measured(*small, f"study.scaling={scaling}", f"seed={seed}").rows[1]["relative"] for seed in (0, 1)]
        assert np.mean(relative) == pytest.approx(expected, rel=0.35)


@pytest.mark.parametrize("override", ["init=lsuv", "norm=weight"])
def test_updates_at_initialization_are_those_after_all_of_it(override):
    small = ("study=update_noise", "model=mlp", "model.widths=[16]", "study.batches=[32]", "study.draws=2")
    without = ("init=orthogonal",) if override == "init=lsuv" else ("norm=weight", "norm.data_init=false")
    fitted, plain = (measured(*small, *given).rows[0]["noise"] for given in ((override,), without))
    assert fitted != pytest.approx(plain, rel=0.01)


def test_the_variance_of_one_gradient_after_the_other_has_the_bits_of_all_at_once():
    gradients = 0.01 * torch.randn(24, 5000) + torch.randn(5000)
    taken, kept = [], []

    def one_by_one():
        for each in gradients:
            kept.append(sum(earlier() is not None for earlier in taken))
            gradient = each.clone()
            taken.append(weakref.ref(gradient))
            yield gradient
            del gradient

    assert torch.equal(variance(one_by_one()), gradients.double().var(dim=0))
    assert max(kept) <= 1


SMALL_DISTANCE = ("study=weight_distance", "dataset.validation=0", "model=mlp", "model.widths=[16]", "optim.lr=0.02",
                  "batch_size=64", "study.reference=16", "steps=64", "study.first=4")  # fmt: skip


def test_weights_that_do_not_move_have_no_relative_distance():
    """Nothing over nothing had ended the study in Python's own error; in float32 this rate moves no weight."""
    last = measured(*SMALL_DISTANCE, "optim.lr=1e-30").rows[-1]
    assert (last["distance"], last["reference"]) == (0, 0)
    assert math.isnan(last["relative"])
    assert math.isnan(last["misfit"])


def test_weights_go_as_far_at_any_batch_size_of_which_the_rate_knows():
    root, none = (measured(*SMALL_DISTANCE, f"study.scaling={scaling}").rows for scaling in ("root", "none"))
    assert [row["step"] for row in root] == [1, 2, 4, 8, 16, 32, 64]
    assert [row["reference"] for row in root] == [row["reference"] for row in none]
    assert none[-1]["relative"] < root[-1]["relative"]
    assert math.isnan(root[1]["line"])
    assert root[2]["remainder"] == pytest.approx(4**0.25 - 1)


def test_the_reference_beside_itself_has_the_ratio_1():
    rows = measured(*SMALL_DISTANCE, "study.reference=64").rows
    assert {row["relative"] for row in rows} == {1.0}
    assert rows[0]["remainder"] == 0


@pytest.mark.parametrize(("power", "is_logarithm"), [(0.0, True), (0.5, False), (1.0, False)])
def test_a_walk_without_barriers_leaves_the_logarithm(power, is_logarithm):
    asked = [2**k for k in range(4, 11)]
    walk = {t: t**power if power else math.log(t) for t in asked}
    fitted = line(walk, asked)
    assert all(abs(walk[t] - fitted[t]) <= fitted[t] / math.log(t) for t in asked) == is_logarithm
    assert (misfits(walk, asked) < 1) == is_logarithm


REFUSED = {
    "batches that do not grow": (["study=update_noise", "study.batches=[64,32]"], "study.batches=[64, 32]: must grow"),
    "three distances": (
        [*SMALL_DISTANCE, "steps=16"],
        "steps=16: needs at least 32, since the law is asked of 4 distances",
    ),
    "a batch larger than the examples": (
        ["study=largest_rate", "study.batch=65"],
        "study.batch=65: there are study.examples=64",
    ),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_what_a_law_cannot_be_asked_of_is_refused(words, message):
    with pytest.raises(UserError, match=re.escape(message)):
        measured(*words)
