"""Table 1 of the layer normalization paper, measured, and what the slides say of it."""

import pytest

from normexp.config import compose
from normexp.studies.base import StudyContext
from normexp.studies.invariances import CHANGES, SAME, Invariances

TABLE = {  # weight matrix x, weight matrix +, weight vector x, dataset x, dataset +, case x
    "none": "no no no no no no",
    "batch": "yes no yes yes yes no",
    "weight": "yes no yes no no no",
    "layer": "yes yes no yes no yes",
    "rms": "yes no no yes no yes",
    "normprop": "yes no yes no no no",
}


@pytest.mark.parametrize("norm", TABLE)
def test_table(norm):
    (row,) = Invariances().measure(StudyContext(compose([f"norm={norm}"]))).rows
    for change, answer in zip(CHANGES, TABLE[norm].split(), strict=True):
        assert row[change] < SAME if answer == "yes" else row[change] > 1e-2, change
    assert row["invariant_to"] == TABLE[norm].split().count("yes")


def test_seed_changes_the_measurement():
    first, second = (
        Invariances().measure(StudyContext(compose(["norm=layer", f"seed={seed}"]))).rows[0] for seed in (0, 1)
    )
    assert first["dataset_recentering"] != second["dataset_recentering"]


def test_layer_norm_is_not_invariant_to_a_translation_of_the_data():
    numbers = Invariances().measure(StudyContext(compose(["norm=layer"]))).numbers
    verdicts = {number.quantity.removeprefix("layer norm is invariant to "): number.agrees for number in numbers}
    assert verdicts == {
        "weight scaling": True, "weight translation": True, "data rescaling": True, "data translation": False,
    }  # fmt: skip


def test_instance_norm_does_not_notice_the_translation_of_one_case():
    (row,) = Invariances().measure(StudyContext(compose(["norm=instance", "model=cnn"]))).rows
    assert row["case_recentering"] < SAME
