"""Weight decay as a growing rate, and the equilibrium it leads to."""

import math

import pytest
from measured import FREE, measured
from one_line import one_line_error

from normexp.errors import UserError
from normexp.studies.arithmetic.logarithms import log, log10

# What the studies measure


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_weight_decay_is_a_growing_rate_to_rounding(momentum):
    rows = measured("study=decay_rate", *FREE, "study.updates=64", f"study.momentum={momentum}").rows
    assert [row["step"] for row in rows] == [0, 1, 2, 4, 8, 16, 32, 64]
    assert max(row["difference"] for row in rows) < 1e-10
    assert rows[-1]["length_ratio"] == pytest.approx(rows[-1]["power"], rel=1e-10)
    assert rows[-1]["power"] < 0.98  # the decay did something


def test_weight_decay_is_something_else_where_a_layer_is_not_normalized():
    last = measured("study=decay_rate", *FREE, "study.updates=32", "study.last=plain", "study.control=true").rows[-1]
    assert last["difference"] > 1e-4


def test_a_gradient_that_vanishes_has_a_logarithm_of_minus_infinity():
    """Its logarithm had ended the study in Python's own error, which names nothing."""
    rows = measured("study=batch_norm_explosion", "norm=none", "study.width=1", "study.batch=8").rows
    assert rows[0]["log10_gradient"] == 0
    assert rows[-1]["log10_gradient"] == -math.inf
    assert log(0.0) == log10(0.0) == -math.inf


def test_a_stream_beyond_float64_has_its_logarithm():
    last = measured("study=residual_variance", "study.blocks=1100", "study.width=2", "study.growth=geometric").rows[-1]
    assert (last["formula"], last["remainder"]) == (math.inf, math.inf)
    assert last["log10_formula"] == pytest.approx(1100 * math.log10(2))


@pytest.mark.slow
def test_equilibrium_angle_forgets_layer_and_gradient():
    options = ("optim=sgd", "optim.momentum=0.9", "optim.lr=0.2", "optim.weight_decay=0.02", "study.widths=[24,24]")
    rows = measured("study=equilibrium", *FREE, *options, "study.updates=1500", "study.batch=16").rows
    assert len(rows) == 3
    for row in rows:
        assert row["formula"] == pytest.approx(math.sqrt(2 * 0.2 * 0.02 / 1.9))
        assert abs(row["angle"] - row["formula"]) < row["remainder"]
        assert row["norm"] == pytest.approx(row["norm_formula"], abs=row["norm_remainder"])


# Whom they refuse


DECAY = {"decay_rate": (), "equilibrium": ("optim.weight_decay=0.01",)}  # the first has a key of its own for it


@pytest.mark.parametrize("study", DECAY)
@pytest.mark.parametrize(
    ("overrides", "layer"),
    [
        (("norm=none",), "0.weight"),
        (("norm=dynamic_tanh",), "0.0.weight"),
        (("norm=batch", "norm.eps=1e-12"), "0.1.bias"),
        ((*FREE, "study.last=plain"), "2.weight"),
    ],
)
def test_law_asked_of_the_wrong_network_names_the_layer(study, overrides, layer):
    with one_line_error(rf"study={study}: the law does not apply: .*\b{layer}\b"):
        measured(f"study={study}", *DECAY[study], *overrides)


def test_equilibrium_names_the_layer_before_it_asks_for_weight_decay():
    with pytest.raises(UserError, match=r"the law does not apply: .*\b0\.weight\b"):
        measured("study=equilibrium", "norm=none", "optim.weight_decay=0.0")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("optim=sgd", "optim.weight_decay=0.0"), "weight_decay=0: without weight decay there is no equilibrium"),
        (("optim=adam",), "equilibrium is known for optim=sgd without nesterov and optim=adamw only"),
        (("optim=sgd", "optim.weight_decay=0.1", "optim.nesterov=true"), "without nesterov"),
    ],
)
def test_equilibrium_without_a_known_law_is_refused(overrides, message):
    given = [*overrides, *(["optim.weight_decay=0.1"] if "optim=adam" in overrides else [])]
    with pytest.raises(UserError, match=message):
        measured("study=equilibrium", *FREE, *given)


@pytest.mark.parametrize("overrides", [("study.weight_decay=10",), ("study.momentum=0.9", "study.weight_decay=1")])
def test_decay_that_leaves_no_equivalent_rate_is_refused(overrides):
    with one_line_error(r"study\.weight_decay=1.*the law has no rate .* below \(1 - sqrt\("):
        measured("study=decay_rate", *FREE, *overrides)
