"""The worked example against values verified elsewhere."""

import numpy as np
import pytest

from normexp.config import compose
from normexp.studies.base import Outcome, StudyContext
from normexp.studies.batch_layer_example import BatchLayerExample


def measured(reading: str) -> Outcome:
    return BatchLayerExample(reading=reading).measure(StudyContext(compose([])))


def matrix(outcome: Outcome, name: str) -> np.ndarray:
    return np.array([row["value"] for row in outcome.tables["matrices"] if row["matrix"] == name]).reshape(3, 4)


@pytest.mark.parametrize(
    ("reading", "z"),
    [
        ("wx", [[0, 0, -0.1, 0.15], [0.25, 0.5, -0.25, -0.05], [0, 0, 0.3, -0.25]]),
        ("wtx", [[0.2, 0.4, -0.1, -0.15], [-0.15, -0.3, 0.45, -0.2], [0.05, 0.1, -0.05, 0.05]]),
        ("printed", [[0.2, 0.4, -0.1, -0.15], [-0.15, -0.3, 0.45, -0.2], [0.05, 0.1, -0.05, 0.05]]),
    ],
)
def test_pre_activations(reading, z):
    assert matrix(measured(reading), "Z") == pytest.approx(np.array(z), abs=1e-12)


def test_normalized_matrices_of_the_product():
    outcome = measured("wx")
    batch = [
        [-0.1400, -0.1400, -1.2603, 1.5403],
        [0.4810, 1.3555, -1.2681, -0.5685],
        [-0.0642, -0.0642, 1.4755, -1.3472],
    ]
    layer = [[-0.7071, -0.7071, -0.3590, 1.2247], [1.4142, 1.4142, -1.0051, 0], [-0.7071, -0.7071, 1.3641, -1.2247]]
    assert matrix(outcome, "BN") == pytest.approx(np.array(batch), abs=1e-4)
    assert matrix(outcome, "LN") == pytest.approx(np.array(layer), abs=1e-4)


@pytest.mark.parametrize(("reading", "wrong", "wrong_z"), [("wx", 46, 11), ("wtx", 1, 0), ("printed", 1, 0)])
def test_how_many_are_wrong(reading, wrong, wrong_z):
    (row,) = measured(reading).rows
    assert (row["wrong"], row["wrong_z"]) == (wrong, wrong_z)
    assert row["numbers"] == row["correct"] + row["rounded_wrongly"] + row["wrong"]


def test_third_variance_follows_from_no_reading():
    for reading in ("wx", "wtx", "printed"):
        (number,) = (n for n in measured(reading).numbers if n.quantity == "variance over the batch, row 3")
        assert number.remark.endswith("No reading of W, X and Z gives the printed one.")


def test_printed_entry_of_the_transpose_is_recognized():
    number = next(n for n in measured("wx").numbers if n.quantity == "Z, row 2, column 1")
    assert number.remark == "Z = W X gives 0.25. The printed one follows from W^T X."
