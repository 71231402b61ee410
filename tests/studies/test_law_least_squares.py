"""Least squares with and without normalization, at any rate."""

import numpy as np
import pytest
from measured import measured

from normexp.errors import UserError
from normexp.studies.least_squares_rate import LeastSquaresRate


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


def test_least_squares_want_more_examples_than_features():
    with pytest.raises(UserError, match=r"study\.features=9: must be fewer than study\.examples=9"):
        measured("study=least_squares_rate", "study.features=9", "study.examples=9", "study.updates=3")
