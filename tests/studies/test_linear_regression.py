"""Descent one example at a time, its largest rate and its length, against running it."""

import itertools

import numpy as np
import pytest

from normexp.studies.arithmetic.linear_regression import Regression

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 3)) * [1.0, 3.0, 0.5], RNG.normal(size=6)
LINE = Regression.of(X, Y)


def after(passes: int, rate: float) -> float:
    *_, theta = LINE.one_by_one(rate, 6 * passes)
    return LINE.mse(theta)


def test_one_update_is_the_lectures():
    first = next(itertools.islice(LINE.one_by_one(0.1, 1), 1, None))
    assert first == pytest.approx(0.1 * Y[0] * np.array([*X[0], 1.0]))


def test_curvatures_are_the_eigenvalues_of_the_hessian():
    design = np.column_stack([X, np.ones(6)])
    assert LINE.curvatures[::-1] == pytest.approx(np.linalg.eigvalsh(design.T @ design / 6))


@pytest.mark.slow
def test_largest_rate_separates_convergence_from_divergence():
    largest = LINE.largest_rate()
    assert after(2000, 0.99 * largest) < 10 * LINE.mse(LINE.start)
    assert not after(5000, 1.02 * largest) < 1e6


def test_passes_are_counted_as_by_running_them():
    rate = 0.3 * LINE.largest_rate()
    share = 1.02 * after(3000, rate) / LINE.mse(LINE.start)  # there is noise, so the error stays above 0
    passes = int(LINE.passes_to(share, rate))
    target = share * LINE.mse(LINE.start)
    assert passes > 1
    assert after(passes, rate) <= target < after(passes - 1, rate)


def test_a_target_below_the_end_is_never_reached():
    assert LINE.passes_to(1e-9, 0.3 * LINE.largest_rate()) == np.inf


def test_descent_ends_with_the_first_error_that_is_not_finite():
    *_, before, last = LINE.one_by_one(1e3, 10_000)
    assert np.isfinite(LINE.mse(before))
    assert not np.isfinite(LINE.mse(last))


def test_all_at_once_ends_in_least_squares():
    *_, theta = LINE.all_at_once(1.0 / LINE.curvatures[0], 5000)
    assert theta == pytest.approx(np.linalg.lstsq(LINE.x, LINE.y)[0], abs=1e-6)
