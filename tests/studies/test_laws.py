"""The laws: what their studies measure where the answer is known, whom they refuse, five of them at full scale."""

import math
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from one_line import one_line_error

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.errors import UserError
from normexp.evidence.claims import judge
from normexp.evidence.curves import Cell, Curve
from normexp.experiments.load import laws, load
from normexp.probes.gram_distance import gram_distance
from normexp.seeding import generator
from normexp.studies.base import Outcome, StudyContext
from normexp.studies.batch_norm_explosion import LIMIT
from normexp.studies.descent import largest_rate
from normexp.studies.largest_rate import FEATURES, PRECISION, LargestRate, stays
from normexp.studies.least_squares_rate import LeastSquaresRate
from normexp.studies.logarithms import log, log10
from normexp.studies.orthogonalization import expected_likeness
from normexp.studies.rezero import ReZero
from normexp.studies.selectable_keys import in_hull_of_others
from normexp.studies.update_noise import variance
from normexp.studies.weight_distance import line, misfits
from normexp.training.build import build_norm

FREE = ("norm=batch", "norm.affine=false", "norm.eps=1e-30")


def measured(*overrides: str) -> Outcome:
    config = compose(list(overrides))
    return instantiate(config["study"]).measure(StudyContext(config))


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


def test_updates_without_noise_have_no_relative_one():
    one = ("dataset=digits", "dataset.subset=1", "norm=none", "model.widths=[2]", "study.batches=[1,2]")
    rows = measured("study=update_noise", *one, "study.draws=2").rows
    assert [row["noise"] for row in rows] == [0, 0]
    assert all(math.isnan(row["relative"]) for row in rows)


@pytest.mark.slow
def test_equilibrium_angle_forgets_layer_and_gradient():
    options = ("optim=sgd", "optim.momentum=0.9", "optim.lr=0.2", "optim.weight_decay=0.02", "study.widths=[24,24]")
    rows = measured("study=equilibrium", *FREE, *options, "study.updates=1500", "study.batch=16").rows
    assert len(rows) == 3
    for row in rows:
        assert row["formula"] == pytest.approx(math.sqrt(2 * 0.2 * 0.02 / 1.9))
        assert abs(row["angle"] - row["formula"]) < row["remainder"]
        assert row["norm"] == pytest.approx(row["norm_formula"], abs=row["norm_remainder"])


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


def test_least_squares_reaches_the_minimum_at_every_rate_only_behind_the_norm():
    for rate in (0.01, 1.0, 100.0):
        row = measured("study=least_squares_rate", f"study.rate={rate}", "study.updates=12000").rows[0]
        assert row["loss"] == pytest.approx(row["least"], rel=1e-8)
    plain = measured("study=least_squares_rate", "study.normalized=false", "study.rate=10", "study.updates=500").rows[0]
    assert plain["loss"] > 1e6
    assert plain["steps"] == 501


@pytest.mark.parametrize("normalized", [True, False])
def test_least_squares_stop_where_no_further_update_would_change_a_bit(normalized):
    h, g, start = np.diag([1.0, 2.0]), np.array([1.0, 0.5]), np.array([0.6, 0.8])
    study = LeastSquaresRate(rate=0.5, updates=100_000, normalized=normalized)
    path = list(study._with_norm(h, g, 2.0, start) if normalized else study._plain(h, g, 2.0, start))
    assert len(path) < 1000
    assert path[-1][0] == pytest.approx((2.0 - g @ np.linalg.solve(h, g)) / 2, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("norm=batch", "norm.eps=1e-12"), 33.0),
        (("norm=none", "study.gain=0"), 1.0),
        (("norm=scaled_weight_standard", "study.downscaled=true"), 33.0),
        (("norm=none", "study.gain=0.1", "study.growth=geometric"), 1.01**32),
    ],
)
def test_residual_stream_grows_by_its_formula(overrides, expected):
    small = ("study=residual_variance", "study.blocks=32", "study.width=200")
    squares = [measured(*small, *overrides, f"seed={seed}").rows[-1]["square"] for seed in range(4)]
    assert measured(*small, *overrides).rows[-1]["formula"] == pytest.approx(expected)
    assert np.mean(squares) == pytest.approx(expected, rel=0.15)


@pytest.mark.slow
def test_last_layer_of_a_pre_norm_transformer_has_less_gradient_the_deeper_it_is():
    small = ("study=norm_placement", "norm=layer", "study.layers=[4,16]", "study.reference=4", "study.width=64")
    means = {
        placement: np.mean([
            measured(*small, f"study.placement={placement}", f"seed={seed}").rows[-1]["relative"] for seed in range(6)
        ])
        for placement in ("post", "pre", "pre_open")
    }  # fmt: skip
    assert means["pre"] == pytest.approx(0.5, abs=0.2)
    assert means["pre"] < 0.8 < means["post"]
    assert means["pre_open"] > 1.2


def test_gradient_of_every_layer_ends_in_that_of_the_last():
    small = ("study=norm_placement", "norm=layer", "study.layers=[2,3]", "study.reference=3", "study.width=32")
    every, last = measured(*small, "study.every=true").rows, measured(*small).rows[-1]
    assert [row["step"] for row in every] == [1, 2, 3]
    assert every[-1]["gradient"] == pytest.approx(last["gradient"], rel=1e-5)
    assert every[-1]["relative"] == 1 != every[0]["relative"] == every[0]["gradient"] / every[-1]["gradient"]


DECODER = ("study=decoder_stream", "dataset=text", "model=gpt", "model.layers=4", "model.width=128", "norm=layer")


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["pre", "layernorm_scaling", "peri"])
def test_stream_of_a_decoder_grows_by_the_formula_of_its_placement(placement):
    exact = (*DECODER, "norm.eps=1e-12", f"placement={placement}")
    ratios = [[row["square"] / row["formula"] for row in measured(*exact, f"seed={seed}").rows] for seed in range(8)]
    assert np.mean(ratios, 0) == pytest.approx(np.ones(4), abs=0.1)  # four standard errors
    last = [measured(*exact, "study.position=last", f"seed={seed}").rows[-1] for seed in range(2)]
    assert np.mean([row["square"] / row["formula"] for row in last]) < (1.1 if placement == "peri" else 0.85)


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ((), r"layers\.0\.0\.before gives tokens the mean square 0\.98\d* instead of 1"),  # an eps of ordinary size
        (("norm.eps=1e-12", "norm=none"), r"layers\.0\.0\.before gives tokens the mean square"),
        (("placement=peri", "norm=dynamic_tanh"), r"layers\.0\.0\.within gives tokens the mean square"),
        (("placement=post",), "placement=post is none of pre, layernorm_scaling, peri"),
        (("init=he",), "init=he draws other weights"),
        (("model.feed_forward=swiglu",), "of model.feed_forward=gelu and model.dropout=0"),
    ],
)
def test_stream_asked_of_the_wrong_decoder_says_the_reason(overrides, reason):
    given = [word for word in (*DECODER, *overrides) if "norm=none" not in overrides or "eps" not in word]
    with pytest.raises(UserError, match=f"study=decoder_stream: the law does not apply: .*{reason}"):
        measured(*given)
    assert measured(*given, "study.control=true").rows


def test_key_in_the_middle_of_others_cannot_be_selected():
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.2, 0.1]])
    assert [in_hull_of_others(square, i) for i in range(5)] == [False] * 4 + [True]


SMALL_NET = ("study=rezero", "study.depth=16", "study.width=128", "study.features=64", "study.examples=4")


@pytest.mark.parametrize(
    ("version", "growth"), [("rezero", 0.0), ("plain", 0.0), ("layer_norm", 16 * math.log10(LIMIT))]
)
def test_rezero_begins_as_the_identity_and_layer_norm_stretches(version, growth):
    rows = [measured(*SMALL_NET, f"study.version={version}", f"seed={seed}").rows for seed in range(6)]
    assert rows[0][0]["log10_formula"] == pytest.approx(growth)
    mean = np.mean([row["log10_growth"] for (row,) in rows])
    assert mean == pytest.approx(growth, abs=1e-6 if version == "rezero" else 0.35)


def test_layer_norm_stretches_a_squared_gradient_by_the_derived_factor_at_finite_width():
    """For a random gradient that has nothing along the norm's output, given what enters ReLU, of every unit."""
    n = 256
    z = np.random.default_rng(0).standard_normal((10_000, n))
    h, active = np.maximum(z, 0), z > 0
    u = (h - h.mean(1, keepdims=True)) / h.std(1, keepdims=True)
    kept = (active * (1 - 1 / n - u**2 / n)).sum(1) / (n - 1)  # of the gradient's square, behind the norm and ReLU
    variance = h.var(1) * 2 * LIMIT  # over that of a rectified normal
    factor = 2 * (n - 1) / n * kept / variance
    known = (variance - 1) - (2 * active.mean(1) - 1)  # of mean -1 / n, and most of the factor's own scatter
    assert n * (factor - 1 + known).mean() + 1 == pytest.approx(2.34, abs=0.2)
    assert "(1 + 2.3 / n)" in str(ReZero.__doc__)


def test_rezero_between_dead_ends_has_no_growth():
    """Where no unit of the first layer is on, 0 over 0 had been recorded as a Jacobian that vanishes."""
    dead = ("study=rezero", "study.depth=2", "study.width=2", "study.features=1", "study.examples=1")
    rows = [row for seed in range(6) for row in measured(*dead, f"seed={seed}").rows]
    assert {row["mean_square"] > 0 for row in rows} == {True, False}
    assert all((row["log10_growth"] == 0) if row["mean_square"] else math.isnan(row["log10_growth"]) for row in rows)


def test_rezero_with_a_branch_switched_on_is_no_identity():
    assert measured(*SMALL_NET, "study.start=1").rows[0]["log10_growth"] > 2
    assert measured(*SMALL_NET, "study.version=residual").rows[0]["log10_growth"] > 0.5


def test_rezero_learns_by_adagrad():
    rows = measured(*SMALL_NET, "study.depth=4", "study.epochs=2", "dataset=digits").rows
    assert rows[2]["loss"] < rows[1]["loss"] < math.log(10) + 0.1
    assert math.isnan(rows[1]["log10_formula"])


def test_rezero_learns_from_data_that_cannot_be_written():
    config = compose([*SMALL_NET, "study.depth=4", "study.epochs=1", "dataset=digits"])
    context = StudyContext(config)
    for array in (context.data.train.x, context.data.train.y):
        array.setflags(write=False)  # as those of a data set that was read from the cache
    assert instantiate(config["study"]).measure(context).rows[1]["loss"] > 0


def test_update_noise_is_constant_for_the_root_of_the_batch_size():
    small = ("study=update_noise", "model=mlp", "model.widths=[16]", "study.batches=[32,128]", "study.draws=48")
    for scaling, expected in (("root", 1.0), ("linear", 4.0), ("none", 0.25)):
        relative = [measured(*small, f"study.scaling={scaling}", f"seed={seed}").rows[1]["relative"] for seed in (0, 1)]
        assert np.mean(relative) == pytest.approx(expected, rel=0.35)


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


def test_update_noise_wants_growing_batches():
    with pytest.raises(UserError, match=r"study\.batches=\[64, 32\]: must grow"):
        measured("study=update_noise", "study.batches=[64,32]")


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


def test_a_line_needs_four_distances():
    with pytest.raises(UserError, match=r"steps=16: needs at least 32, since the law is asked of 4 distances"):
        measured(*SMALL_DISTANCE, "steps=16")


SMALL_RATE = ("study=largest_rate", "study.depth=1", "study.width=8", "study.examples=16", "study.updates=100")


@pytest.mark.parametrize("overrides", [("norm=none",), FREE, ("norm=none", "study.momentum=0.5")])
def test_gradient_descent_stays_up_to_two_over_the_curvature(overrides):
    row = measured(*SMALL_RATE, *overrides).rows[0]
    assert row["formula"] == pytest.approx(2 * (1.5 if "study.momentum=0.5" in overrides else 1) / row["curvature"])
    assert abs(row["rate"] - row["formula"]) < row["remainder"] < 0.1 * row["formula"]
    assert row["survived"] >= 64 if overrides == FREE else row["survived"] <= 4


def rate_of_the_linear_descent(study: LargestRate, context: StudyContext) -> float:
    """Return what the study would find if the loss were e'He / 2, e being what its start is away from the minimum."""
    net = study._net(build_norm(context.config), context.seed)
    x = torch.randn(study.examples, FEATURES, dtype=torch.double, generator=generator(context.seed, "examples"))
    weights, source = list(net.parameters()), generator(context.seed, "away")
    away = [w.square().mean().sqrt() * torch.randn(w.shape, dtype=w.dtype, generator=source) for w in weights]
    jacobian = torch.stack([
        torch.cat([part.flatten() for part in torch.autograd.grad(each, weights, retain_graph=True)])
        for each in net(x).flatten()
    ])  # fmt: skip
    hessian, start = jacobian.T @ jacobian / len(x), torch.cat([each.flatten() for each in away]).detach()

    def losses(rate: float) -> Iterator[float]:
        e, velocity = start, torch.zeros_like(start)
        yield float(e @ hessian @ e)
        for _ in range(study.updates):
            velocity = study.momentum * velocity + hessian @ e
            e = e - rate * velocity
            yield float(e @ hessian @ e)

    low = 1 / float(torch.linalg.matrix_norm(hessian, 2))
    return largest_rate(lambda rate: stays(losses(rate)), low, PRECISION)


@pytest.mark.parametrize("overrides", [("norm=none",), FREE, ("norm=none", "study.momentum=0.5")])
def test_what_is_above_two_over_the_curvature_is_that_of_finitely_many_updates(overrides):
    """The remainder is that of a typical start; of the one that is drawn it is known."""
    context = StudyContext(compose([*SMALL_RATE, "study.updates=20", *overrides]))
    study = instantiate(context.config["study"])
    row = study.measure(context).rows[0]
    assert row["rate"] == pytest.approx(rate_of_the_linear_descent(study, context), rel=2 * PRECISION)
    assert row["rate"] > (1 + 4 * PRECISION) * row["formula"]  # which the formula by itself does not say


def test_mini_batches_lower_the_largest_rate():
    row = measured(*SMALL_RATE, "norm=none", "study.batch=4").rows[0]
    assert row["rate"] < row["formula"] - row["remainder"]


SMALL_LINEAR = ("study=deep_linear", "study.depth=6", "study.examples=60", "study.updates=4")


def test_batch_norm_projects_the_gradient_to_rounding_and_layer_norm_does_not():
    for row in measured(*SMALL_LINEAR, "norm=batch", "norm.eps=1e-30").rows:
        assert abs(row["gradient"] - row["formula"]) < row["rounding"]
    for norm in ("norm=batch", "norm=layer"):
        row = measured(*SMALL_LINEAR, norm).rows[0]
        assert abs(row["gradient"] - row["formula"]) > 10 * row["rounding"]
    assert math.isnan(measured(*SMALL_LINEAR, "norm=none").rows[0]["formula"])


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


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("norm=dynamic_tanh",), "growth=linear block 1 should add a mean square of 1 to a stream of"),
        (("norm=weight",), "a stream of 4, and adds"),
        (
            ("norm=batch", "study.growth=geometric"),
            "growth=geometric block 1 should add a mean square of 4 to a stream of 4",
        ),
    ],
)
def test_a_stream_of_another_scheme_names_the_block(overrides, message):
    small = ("study=residual_variance", "study.blocks=4", "study.width=128", *overrides)
    with pytest.raises(UserError, match=re.escape(message)):
        measured(*small)
    assert measured(*small, "study.control=true").rows


@pytest.mark.parametrize("norm", ["layer", "batch", "rms"])
@pytest.mark.parametrize("seed", range(3))
def test_schemes_that_forget_the_length_of_the_stream_are_taken(norm, seed):
    small = ("study=residual_variance", "study.blocks=16", "study.width=200", f"norm={norm}", f"seed={seed}")
    assert measured(*small).rows[-1]["square"] == pytest.approx(17, rel=0.2)


def test_a_batch_larger_than_the_examples_is_refused():
    with pytest.raises(UserError, match=r"study\.batch=65: there are study\.examples=64"):
        measured("study=largest_rate", "study.batch=65")


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


def test_a_transformer_layer_wants_a_width_that_its_heads_divide():
    with pytest.raises(UserError, match=r"study\.width=30: is not divisible by the 4 heads of a layer"):
        measured("study=norm_placement", "norm=layer", "study.width=30", "study.layers=[1]", "study.reference=1")


@pytest.mark.parametrize("widths", ["[]", "[16]", "[16,16]"])
def test_a_slope_wants_two_widths(widths):
    with pytest.raises(UserError, match=r"study\.widths=.*: a slope needs two different widths or more, each once"):
        measured("study=orthogonalization", "norm=batch", "study.depth=10", f"study.widths={widths}")


def test_least_squares_want_more_examples_than_features():
    with pytest.raises(UserError, match=r"study\.features=9: must be fewer than study\.examples=9"):
        measured("study=least_squares_rate", "study.features=9", "study.examples=9", "study.updates=3")


# At full scale


def full_scale(name: str, seeds: Sequence[int], points: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Run an experiment's own configurations at scale paper; return {claim: verdict} of its follows and leaves."""
    experiment = load(name, "paper")
    curves: dict[Cell, dict[int, Curve]] = {}
    for arm in experiment.arms:
        for point in experiment.points():
            values = dict(point)
            if values["seed"] not in seeds or any(values[axis] not in kept for axis, kept in points.items()):
                continue
            config = experiment.config(arm, point)
            rows = instantiate(config["study"]).measure(StudyContext(config)).rows
            columns = {key: np.array([float(row[key]) for row in rows]) for key in rows[0] if key != "step"}
            cell = Cell(arm, tuple((axis, value) for axis, value in point if axis != "seed"))
            curve = Curve(np.array([row["step"] for row in rows]), columns, "done")
            curves.setdefault(cell, {})[values["seed"]] = curve
    claims = [claim for claim in experiment.claims if claim.compare in ("follows", "leaves") and claim.kind != "own"]
    return {claim.text: verdict.verdict for claim, verdict in zip(claims, judge(claims, curves), strict=True)}


FULL = {
    "law_decay_rate": ((0,), {"study.momentum": [0.9]}),
    "law_selectable_keys": ((0, 1), {"study.keys": [50]}),
    "law_least_squares": ((4,), {"study.rate": [0.001, 10.0, 1000.0]}),
    "law_orthogonalization": ((0, 1, 2, 3), {}),
    "law_batch_norm_explosion": ((0, 1, 2, 3, 4), {"study.batch": [256]}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_law_holds_at_full_scale_and_its_controls_leave_it(name):
    verdicts = full_scale(name, *FULL[name])
    assert verdicts
    assert set(verdicts.values()) == {"holds"}, verdicts


def test_every_law_has_a_formula_a_lesson_a_figure_and_a_control():
    assert len(laws()) >= 14
    for name in laws():
        experiment = load(name, "paper")
        compared = [claim.compare for claim in experiment.claims]
        assert "follows" in compared
        assert "leaves" in compared
        assert experiment.figures
        assert experiment.law.formula
        assert len(experiment.law.lesson) > 200
