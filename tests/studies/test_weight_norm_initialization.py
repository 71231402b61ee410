"""The slide's formula leaves a factor 1/sqrt(||w||); ours leaves none."""

import pytest

from normexp.config import compose
from normexp.studies.base import StudyContext
from normexp.studies.weight_norm_initialization import WeightNormInitialization

SETUP = StudyContext(compose([]))


def test_derived_formula_normalizes_every_unit():
    (row,) = WeightNormInitialization(formula="derived").measure(SETUP).rows
    assert row["largest_mean"] < 1e-12
    assert row["smallest_deviation"] == pytest.approx(1, abs=1e-12)
    assert row["largest_deviation"] == pytest.approx(1, abs=1e-12)


def test_printed_formula_leaves_the_root_of_the_norm():
    outcome = WeightNormInitialization(units=1).measure(SETUP)
    (row,), (number,) = outcome.rows, outcome.numbers
    assert row["largest_deviation"] == pytest.approx(row["norm"] ** -0.5, rel=1e-9)
    assert number.agrees is False
