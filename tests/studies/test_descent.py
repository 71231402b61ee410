"""Gradient descent on a quadratic: against a plain loop, and against what theory says of it."""

import numpy as np
import pytest

from normexp.studies.arithmetic.descent import Descent, Quadratic


def quadratic(*scales: float) -> Quadratic:
    rng = np.random.default_rng(0)
    return Quadratic.of(rng.standard_normal((200, len(scales))) * scales + 1)


def test_powers_are_as_many_steps_of_a_plain_loop():
    loss = quadratic(1, 2, 5)
    rate = 0.7 / loss.values[0]
    error = loss.vectors.sum(axis=1)
    for _ in range(77):
        error = error - rate * loss.hessian @ error
    assert Descent(loss, rate).errors(77) == pytest.approx(loss.vectors.T @ error, abs=1e-12)


def test_rates_found_by_bisection_are_two_and_one_over_the_largest_eigenvalue():
    loss = quadratic(0.01, 1, 30)
    largest = np.linalg.eigvalsh(loss.hessian)[-1]
    assert loss.largest_stable() * largest == pytest.approx(2, rel=1e-6)
    assert loss.largest_smooth() * largest == pytest.approx(1, rel=1e-6)


def test_a_direction_takes_the_steps_that_its_eigenvalue_says():
    loss = quadratic(1, 3, 40)
    rate = 0.5 / loss.values[0]
    expected = np.ceil(np.log(0.01) / np.log(1 - rate * loss.values))
    assert Descent(loss, rate).steps_to(0.01) == pytest.approx(expected)


def test_equal_eigenvalues_make_the_path_straight():
    steps = np.arange(50)
    round_loss = Quadratic.of(np.eye(4) * 2.0)
    assert Descent(round_loss, 0.3).path_length(steps) == pytest.approx(1)
    assert Descent(quadratic(1, 30), 0.1 / 900).path_length(steps * 1000) > 1.2


def test_directions_without_variance_are_left_out():
    x = np.random.default_rng(0).standard_normal((50, 3)) @ np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0.0]])
    loss = Quadratic.of(x)
    assert len(loss.values) == 2
    assert loss.condition == pytest.approx(loss.values[0] / loss.values[1])
