"""What many layers behind batch normalization do to gradients and to likeness."""

import math

import pytest
import torch
from measured import FREE, measured

from normexp.errors import UserError
from normexp.probes.gram_distance import gram_distance
from normexp.studies.batch_norm_explosion import LIMIT
from normexp.studies.orthogonalization import expected_likeness


def test_batch_norm_explosion_grows_by_the_formula_and_layer_norm_does_not():
    small = ("study=batch_norm_explosion", "study.width=300", "study.depth=16", "norm.eps=1e-12")
    rows = measured(*small, "norm=batch", "study.activation=identity", "study.batch=12").rows
    assert rows[0]["formula"] == pytest.approx(10 / 9)
    assert rows[0]["growth"] == pytest.approx(10 / 9, rel=0.06)
    relu = measured(*small, "norm=batch", "study.batch=200").rows[0]
    assert relu["limit"] == LIMIT == pytest.approx(1.46694, abs=1e-5)
    assert relu["growth"] == pytest.approx(LIMIT, rel=0.05)
    assert measured(*small, "norm=layer", "study.batch=200").rows[0]["growth"] < 1.25


def test_orthogonal_weights_bound_the_gradient_where_gaussian_ones_do_not():
    small = ("study=orthogonal_depth", *FREE, "study.width=20", "study.depth=300", "study.centre=false")
    bounded = measured(*small, "study.examples=20").rows[0]
    exploding = measured(*small, "study.examples=20", "study.weights=gaussian").rows[0]
    assert abs(bounded["log_growth"]) < bounded["allowed"] == math.log(20)
    assert exploding["log_growth"] > bounded["allowed"]


def test_level_of_orthogonalization_falls_with_the_width():
    small = ("study=orthogonalization", "study.depth=60", "study.widths=[16,64,256]")
    rows = measured(*small, "norm=batch").rows
    assert [row["step"] for row in rows] == [16, 64, 256]
    assert rows[0]["level"] > 1.5 * rows[1]["level"] > 2.25 * rows[2]["level"]
    assert rows[0]["slope"] == pytest.approx(-0.5, abs=0.1)
    assert measured(*small, "norm=none").rows[0]["slope"] > -0.3


@pytest.mark.slow
def test_examples_that_are_alike_fall_apart_by_the_expected_share_behind_batch_norm_only():
    small = ("study=orthogonalization", "study.depth=20", "study.widths=[64,512]", "study.alike=0.9")
    assert measured(*small, "norm=batch").rows[1]["fall"] == pytest.approx(1, abs=0.05)
    assert measured(*small, "norm=none").rows[1]["fall"] > 1.2
    assert math.isnan(measured(*small[:-1], "norm=batch").rows[1]["fall"])


@pytest.mark.parametrize("examples", [2, 4, 16])
def test_expected_likeness_is_that_of_many_rows_and_of_the_derived_limit(examples):
    a = (examples - 1) / 2
    variance = torch.full((examples,), 1 - a / (examples - 1), dtype=torch.double)
    variance[0] = 1 + a
    source = torch.Generator().manual_seed(0)
    rows = torch.randn((400_000, examples), dtype=torch.double, generator=source) * variance.sqrt()
    share = float((rows[:, 0].square() / rows.square().sum(1)).mean())
    assert expected_likeness(a, examples) == pytest.approx(examples * share - 1, abs=0.01 * examples)
    assert expected_likeness(1e-4, examples) == pytest.approx(1e-4 * examples / (examples + 2), rel=1e-3)


def test_gram_distance_of_orthogonal_and_of_equal_examples():
    assert gram_distance(3 * torch.eye(4, 7, dtype=torch.double)) == pytest.approx(0)
    assert gram_distance(torch.ones(4, 7, dtype=torch.double)) == pytest.approx(math.sqrt(0.75))


@pytest.mark.parametrize("norm", ["none", "layer", "dynamic_tanh", "weight", "mean_only"])
@pytest.mark.parametrize("centre", ["true", "false"])
def test_bounded_gradients_are_of_batch_normalization(norm, centre):
    """Any scheme was taken; with centre=false it was not even looked at."""
    small = ("study=orthogonal_depth", "study.width=20", "study.depth=3", f"study.centre={centre}", f"norm={norm}")
    with pytest.raises(
        UserError, match=rf"norm={norm}: the law does not apply: behind layer 1 .* squares from .*, not 1"
    ):
        measured(*small)
    assert measured(*small, "study.control=true").rows


@pytest.mark.parametrize("norm", ["layer", "dynamic_tanh", "rms"])
def test_the_level_of_orthogonalization_is_of_batch_normalization(norm):
    """Whatever scheme was given, the root mean square over the batch stood in its place."""
    with pytest.raises(UserError, match=rf"norm={norm}: the law does not apply: behind layer 1 "):
        measured("study=orthogonalization", "study.depth=10", "study.widths=[16,32]", f"norm={norm}")
