"""Covariance of W x: known rows, known inputs, and what a network of one unit side by side is told."""

import math

import numpy as np
import pytest
import torch
from measured import measured

from normexp.errors import UserError
from normexp.studies.base import Row
from normexp.studies.incoherence import distance, whitened

NETWORK = ("study=incoherence", "dataset=digits", "model=mlp", "model.widths=[64,64]", "norm=none", "epochs=1")


def rows(*overrides: str) -> list[Row]:
    return list(measured(*NETWORK, *overrides).rows)


def test_whitened_inputs_have_the_identity_as_covariance():
    x = whitened(torch.randn(200, 12, dtype=torch.double) @ torch.randn(12, 12, dtype=torch.double) + 3)
    np.testing.assert_allclose(np.cov(x.numpy().T, bias=True), np.eye(12), atol=1e-12)
    np.testing.assert_allclose(x.mean(0), np.zeros(12), atol=1e-12)


def test_distance_is_the_root_mean_square_of_the_cosines_of_rows():
    w = torch.nn.functional.normalize(torch.randn(5, 9, dtype=torch.double))
    gram = (w @ w.T).numpy()
    expected = math.sqrt(np.mean(gram[~np.eye(5, dtype=bool)] ** 2))
    assert distance(w, whitened(torch.randn(300, 9, dtype=torch.double))) == pytest.approx(expected, rel=1e-10)


def test_orthogonal_rows_keep_the_identity_and_correlated_inputs_do_not():
    w = torch.linalg.qr(torch.randn(16, 16, dtype=torch.double))[0][:8]
    x = torch.randn(500, 16, dtype=torch.double)
    assert distance(w, whitened(x)) < 1e-12
    assert distance(w, x + 3 * x[:, :1]) > 0.5


def test_rows_at_the_start_are_at_the_distance_of_random_ones_and_below_their_coherence():
    for row in rows("study.learned=false"):
        assert row["distance"] == pytest.approx(64**-0.5, rel=0.05)  # three deviations of 2 / 64
        assert row["distance"] < row["coherence"] < 1
        assert row["times"] == row["distance_in_use"] / row["distance"]


def test_a_shared_direction_gives_rows_that_cosine():
    (first, _) = rows("study.learned=false", "study.cosine=0.5")
    assert first["distance"] == pytest.approx(0.5, rel=0.1)


def test_training_changes_the_rows():
    start, learned = rows("study.learned=false"), rows("optim.lr=0.5", "epochs=3")
    assert all(after["distance"] > before["distance"] for before, after in zip(start, learned, strict=True))


@pytest.mark.parametrize(
    ("wrong", "said"),
    {
        "model.widths=[]": "needs hidden linear layers",
        "model.widths=[1]": "needs hidden linear layers of two units",
        "study.examples=64": "study.examples=64: a layer has 64 inputs; give more examples",
    }.items(),
)
def test_what_has_no_two_hidden_units_or_too_few_examples_is_refused(wrong, said):
    with pytest.raises(UserError, match=said):
        rows("study.learned=false", wrong)
