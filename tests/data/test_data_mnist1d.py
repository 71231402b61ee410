"""MNIST-1D: the lines are those of the authors' package, and shuffling them moves all points alike."""

import numpy as np
import pytest

from normexp.data.mnist1d import Mnist1d, lines

FIRST_DIGITS = [2, 6, 4, 5, 6, 6, 6, 0, 3, 1, 6, 9]
FIRST_POINTS = [-0.33201, -0.47191, -0.7787]
CUBES = -6607.19


@pytest.fixture(scope="module")
def generated() -> tuple[np.ndarray, np.ndarray]:
    return lines()


@pytest.mark.slow
def test_mnist1d_is_what_the_package_generates(generated):
    package = pytest.importorskip("mnist1d.data", reason="the package mnist1d is not installed")
    state = np.random.get_state()
    theirs = package.make_dataset(package.get_dataset_args())
    np.random.set_state(state)  # it seeds NumPy's global generator
    x, y = generated
    assert np.allclose(x, np.concatenate([theirs["x"], theirs["x_test"]]), atol=1e-5)
    assert (y == np.concatenate([theirs["y"], theirs["y_test"]])).all()


def test_mnist1d_has_its_fingerprint(generated):
    """Sums that another seed, order of draws or template would change; the package gives the same."""
    x, y = generated
    assert (x.shape, x.dtype) == ((5000, 40), np.float32)
    assert y[:12].tolist() == FIRST_DIGITS
    assert x[0, :3] == pytest.approx(FIRST_POINTS, abs=1e-4)
    assert float((x[:, ::2].astype(float) ** 3).sum()) == pytest.approx(CUBES, rel=1e-4)


def test_mnist1d_shuffled_has_the_same_points_elsewhere(generated, monkeypatch):
    monkeypatch.setattr("normexp.data.mnist1d.lines", lambda: generated)
    plain, shuffled = (Mnist1d(shuffled=each).load(0).train.x for each in (False, True))
    assert (np.sort(plain, axis=1) == np.sort(shuffled, axis=1)).all()
    moved = [int(np.argmax((plain == shuffled[:, [k]]).all(axis=0))) for k in range(40)]
    assert sorted(moved) == list(range(40))
    assert moved != list(range(40))
