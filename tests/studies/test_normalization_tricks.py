"""The formulas of Zuo's notes: our layers follow them, and a formula with a slip would be seen."""

import pytest
import torch

from normexp.config import compose
from normexp.studies import normalization_tricks as module
from normexp.studies.base import StudyContext
from normexp.studies.normalization_tricks import SAME, NormalizationTricks


@pytest.fixture(scope="module")
def outcome():
    return NormalizationTricks().measure(StudyContext(compose(["study=normalization_tricks"])))


def test_our_layers_follow_the_notes(outcome):
    (row,) = outcome.rows
    assert max(row[name] for name in ("batch_norm_formula", "layer_norm_formula", "lstm_formula")) < SAME
    assert row["batch_dependence"] == row["one_example"] == 0


def test_the_mean_of_fewer_examples_varies_more_by_the_ratio_of_their_numbers(outcome):
    assert outcome.rows[0]["mean_variance_ratio"] == pytest.approx(16, rel=0.2)


def test_every_sentence_is_judged(outcome):
    assert len(outcome.numbers) == 7
    assert {number.document for number in outcome.numbers} == {"S000"}
    assert all(number.agrees for number in outcome.numbers)


def test_unbiased_variance_would_be_seen(monkeypatch):
    """A formula divided by n - 1 is another one: the study must not call it the same."""

    def unbiased(x: torch.Tensor, dim: int) -> torch.Tensor:
        return (x - x.mean(dim, keepdim=True)) / (x.var(dim, keepdim=True) + module.EPS).sqrt()

    monkeypatch.setattr(module, "normalized", unbiased)
    outcome = NormalizationTricks().measure(StudyContext(compose(["study=normalization_tricks"])))
    row = outcome.rows[0]
    assert min(row[name] for name in ("batch_norm_formula", "layer_norm_formula", "lstm_formula")) > 1e-4
    assert [number.agrees for number in outcome.numbers].count(False) >= 3
