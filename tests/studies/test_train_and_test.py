"""Outputs in both modes against batches normalized by hand; the slides' sentences."""

from types import SimpleNamespace

import pytest
import torch
from measured import measured
from torch import nn

from normexp.errors import UserError
from normexp.norms.batch import BatchNorm
from normexp.norms.checks.capabilities import ONE_EXAMPLE, YES, capabilities
from normexp.norms.normprop import NormProp
from normexp.seeding import generator
from normexp.studies.train_and_test import TrainAndTest, sentences

TINY = ["study=train_and_test", "steps=15", "threads=1", "study.rounds=3"]
MLP = ["model=mlp", "model.widths=[12]"]
NIN = ["model=nin", "model.width=0.05", "model.dropout=0"]


def last_row(*overrides):
    return measured(*TINY, *overrides).rows[-1]


def shown(x, size, rounds=4):
    """The study's outputs for a network that does nothing but normalize the batch."""

    class Test:
        def __len__(self):
            return len(x)

        def first(self, count):
            return x[:count].float(), torch.arange(count) % 2

    parts = SimpleNamespace(
        model=nn.BatchNorm1d(2, eps=1e-12, affine=False),
        evaluated={"test": Test()},
        batches=SimpleNamespace(batch_size=size),
        device=torch.device("cpu"),
    )
    return TrainAndTest(rounds=rounds)._outputs(parts, 0)


def centered(y):
    return y - y.mean(-1, keepdim=True)


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(3)) * 2 + torch.arange(shape[1])


@pytest.mark.parametrize("norm", ["normprop", "weight", "layer", "none"])
def test_modes_are_identical_without_statistics_of_the_batch(norm):
    row = last_row(*MLP, f"norm={norm}")
    assert row["mode_gap"] == pytest.approx(0, abs=1e-12)
    assert row["batch_noise"] == pytest.approx(0, abs=1e-12)
    assert row["test_accuracy"] > 0.3


@pytest.mark.parametrize(
    "overrides",
    [
        [*MLP, "norm=batch"],
        [*NIN, "norm=normprop", "model.standardize_batches=true"],
    ],
    ids=["batch norm", "batch-wise data normalization"],
)
def test_statistics_of_the_batch_part_the_modes_and_make_noise(overrides):
    row = last_row(*overrides)
    assert row["mode_gap"] > 0.01
    assert row["batch_noise"] > 0.01


def test_outputs_are_those_of_each_batch_by_itself():
    x, size = drawn(12, 2), 4
    training, evaluation, y = shown(x, size)
    for number, found in enumerate(training):
        for part in torch.randperm(12, generator=generator(0, "division", number)).split(size):
            batch = x[part].double()
            expected = (batch - batch.mean(0)) / batch.std(0, correction=0)
            torch.testing.assert_close(found[part], centered(expected), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(evaluation, centered(x.double()).expand(4, 12, 2), rtol=1e-5, atol=1e-6)
    assert y.tolist() == [0, 1] * 6


def test_one_batch_of_everything_leaves_no_chance():
    training, _, _ = shown(drawn(12, 2), 12)
    assert training.var(0).max() < 1e-20


def test_examples_beyond_whole_batches_are_left_out():
    assert shown(drawn(14, 2), 4)[0].shape == (4, 12, 2)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [(["batch_size=64", "study.examples=63"], "less than one batch"), (["dataset=house_prices"], "has no classes")],
    ids=["less than a batch", "regression"],
)
def test_what_cannot_be_measured_is_said(overrides, words):
    with pytest.raises(UserError, match=words):
        last_row(*MLP, *overrides)


def test_sentences_of_the_slides_are_right():
    assert [each.agrees for each in sentences()] == [True] * 4


def test_sentences_could_be_wrong(monkeypatch):
    monkeypatch.setattr("normexp.studies.train_and_test.SLIDES", {"there": (BatchNorm(), "")})
    both, one = sentences()
    assert (both.agrees, one.agrees) == (False, False)
    assert "differ by" in str(both.computed)


def test_one_example_of_images_still_has_positions():
    assert capabilities(NormProp(), cases=ONE_EXAMPLE) == dict.fromkeys(ONE_EXAMPLE, YES)
    vector, image = capabilities(BatchNorm(), cases=ONE_EXAMPLE).values()
    assert vector.startswith("no: ")
    assert image == YES
