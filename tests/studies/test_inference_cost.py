"""What is counted, folded and compared; times themselves are only held to be sane."""

import time

import pytest
import torch

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.studies import inference_cost
from normexp.studies.base import StudyContext
from normexp.studies.inference_cost import WARM_UP, folded, now, ratio, timed, without_norm

TINY = [
    "study=inference_cost", "model=cnn", "model.widths=[4,4]", "norm.eps=1e-5", "batch_size=16", "threads=1",
    "study.repeats=6", "optim.lr=0.01",
]  # fmt: skip
CPU = torch.device("cpu")


def tiny(norm):
    return compose([f"norm={norm}", *(override for override in TINY if norm == "batch" or "eps" not in override)])


def measured(norm):
    config = tiny(norm)
    (row,) = instantiate(config["study"]).measure(StudyContext(config)).rows
    return row


@pytest.mark.parametrize(
    ("norm", "added", "left"),
    [
        ("none", 0, 0),
        ("batch", 2, 0),
        ("mean_only", 2, 0),
        ("weight_mean_only", 4, 0),
        ("layer", 2, 2),
        ("normprop", 6, 4),
    ],
)
def test_what_folding_leaves(norm, added, left):
    row = measured(norm)
    assert (row["added"], row["left"]) == (added, left)
    assert row["fold_error"] < 1e-5
    for name in ("forward", "folded", "training"):
        assert 0 < row[f"{name}_low"] <= row[f"{name}_ratio"] <= row[f"{name}_high"]


@pytest.mark.slow
def test_kept_memory_is_relative_to_the_network_without():
    assert measured("none")["kept_ratio"] == 1
    assert measured("mean_only")["kept_ratio"] == 1  # its backward needs nothing
    assert measured("batch")["kept_ratio"] > 1.2


def test_folding_a_copy_leaves_the_network_trainable():
    setup = StudyContext(tiny("weight"))
    x = setup.components.batches.first(4)[0]
    expected = setup.components.model(x)
    torch.testing.assert_close(folded(setup)(x), expected.detach())
    setup.components.model(x).sum().backward()
    assert all(parameter.grad is not None for parameter in setup.components.model.parameters())


def test_network_without_norm_starts_from_the_same_weights():
    config = tiny("batch")
    scheme, plain = StudyContext(config), StudyContext(without_norm(config))
    assert [type(module).__name__ for module in plain.components.model.modules()].count("AnyRankBatchNorm") == 0
    torch.testing.assert_close(
        plain.components.model.features[0][0].weight, scheme.components.model.features[0][0].weight
    )


def test_rounds_are_paired_and_the_first_do_not_count():
    calls = []
    times = timed({name: lambda name=name: calls.append(name) for name in "ab"}, WARM_UP + 4, CPU)
    assert {name: len(each) for name, each in times.items()} == {"a": 4, "b": 4}
    rounds = ["".join(calls[i : i + 4]) for i in range(0, len(calls), 4)]
    assert len(rounds) == WARM_UP + 4
    assert set(rounds) == {"aabb", "bbaa"}


def test_ratio_is_the_median_of_pairs():
    found = ratio("x", [2.0, 3, 4, 50, 6, 7], [1.0, 1, 1, 1, 1, 1])
    assert found == {"x_ratio": 5, "x_low": 2, "x_high": 50}


def test_time_of_other_programs_does_not_count():
    start = now(CPU)
    time.sleep(0.05)
    assert now(CPU) - start < 0.03
    assert inference_cost.seconds(lambda: sum(range(200_000)), CPU) > 1e-4
