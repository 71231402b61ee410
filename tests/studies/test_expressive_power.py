"""Which schemes only write the same layer in other numbers: what is known of them by their formulas."""

import pytest
import torch
from numpy import column_stack, ones, sqrt
from numpy.linalg import lstsq

from normexp.config import compose
from normexp.studies.base import StudyContext
from normexp.studies.expressive_power import ExpressivePower, _left, rows
from normexp.studies.invariances import SAME

LOST = {  # in training, in evaluation, beyond a plain layer
    "none": "no no no",
    "batch": "no no no",
    "mean_only": "no no no",
    "weight": "no no no",
    "spectral": "no no no",
    "ghost_batch": "yes no no",  # each part of the batch has statistics of its own
    "weight_standard": "yes yes no",  # weights whose mean is not 0 are out of reach, what it computes is affine
    "decorrelated": "yes yes no",  # it mixes units
    "layer": "yes yes yes",
    "rms": "yes yes yes",
    "instance": "yes yes yes",
    "dynamic_tanh": "yes yes yes",
}


@pytest.mark.parametrize("norm", LOST)
def test_what_is_lost(norm):
    row = measured(norm)
    for metric, answer in zip(("left", "left_in_evaluation", "not_affine"), LOST[norm].split(), strict=True):
        assert row[metric] < SAME if answer == "no" else row[metric] > 1e-2, metric
    assert row["reparameterization"] == (LOST[norm].endswith("no no"))


def measured(norm):
    (row,) = ExpressivePower().measure(StudyContext(compose([f"norm={norm}"]))).rows
    return row


def test_the_share_that_layer_norm_loses_is_that_of_the_formula():
    """Of y = W x, what no gain and shift per unit of its layer-normalized values bring back, by NumPy's regression."""
    torch.manual_seed(0)
    y = torch.randn(50, 7, dtype=torch.double).numpy()
    z = (y - y.mean(1, keepdims=True)) / y.std(1, keepdims=True)
    residuals = [lstsq(column_stack([z[:, j], ones(50)]), y[:, j])[1][0] for j in range(7)]
    expected = sqrt(sum(residuals) / ((y - y.mean(0)) ** 2).sum())
    assert _left(torch.from_numpy(z), torch.from_numpy(y)) == pytest.approx(expected, rel=1e-9)


def test_maps_are_a_row_for_each_position():
    x = torch.arange(24.0).reshape(2, 3, 2, 2)
    assert rows(x).shape == (8, 3)
    assert rows(x)[1].tolist() == x[0, :, 0, 1].tolist()
