"""The residual stream of transformers, its gradients, and the keys that can be selected."""

import re

import numpy as np
import pytest
from measured import measured

from normexp.errors import UserError
from normexp.studies.selectable_keys import in_hull_of_others


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


def test_a_transformer_layer_wants_a_width_that_its_heads_divide():
    with pytest.raises(UserError, match=r"study\.width=30: is not divisible by the 4 heads of a layer"):
        measured("study=norm_placement", "norm=layer", "study.width=30", "study.layers=[1]", "study.reference=1")


@pytest.mark.parametrize("norm", ["weight", "spectral_penalty", "evonorm_s0"])
def test_a_net_without_a_norm_on_its_tokens_is_no_place_for_the_law(norm):
    small = ("study=norm_placement", "study.layers=[1]", "study.reference=1", "study.width=8")
    with pytest.raises(UserError, match=f"study=norm_placement norm={norm}: the law does not apply"):
        measured(*small, f"norm={norm}")
    assert measured(*small, "norm=none").rows


def test_a_scaled_embedding_is_in_the_formula_of_the_stream():
    network = (
        "dataset=text",
        "model=gpt",
        "norm=rms",
        "norm.eps=1e-12",
        "placement=pre",
        "model.scaled_embedding=true",
    )
    row = measured("study=decoder_stream", *network, "study.sequences=64").rows[0]
    assert row["square"] == pytest.approx(row["formula"], rel=0.1)
