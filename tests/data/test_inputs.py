"""Input normalization against its formulas in float64."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from normexp.config import compose, options
from normexp.config.instantiate import instantiate
from normexp.data.inputs import ZCA, Center, Identity, MinMax, PerImage, Standardize, precision
from normexp.errors import UserError

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (50, 4, 3, 3), np.uint8)
TABLE = (RNG.normal(size=(50, 5)) * [1, 10, 100, 1e-3, 1] + [0, 5, -900, 0, 1e3]).astype(np.float32)
STORED = {"pixels": PIXELS, "table": TABLE}
each_kind = pytest.mark.parametrize("kind", STORED)


def real(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64) / (255 if x.dtype == np.uint8 else 1)


def axes(x: np.ndarray, per: str) -> tuple[int, ...]:
    return tuple(range(x.ndim - 1)) if per == "channel" else (0,)


def center(x, per):
    return x - x.mean(axes(x, per))


def standardize(x, per):
    return (x - x.mean(axes(x, per))) / (x.std(axes(x, per)) + 1e-8)


def minmax(x, per):
    low, high = x.min(axes(x, per)), x.max(axes(x, per))
    return (x - low) / (high - low)


def minmax_symmetric(x, per):
    return 2 * minmax(x, per) - 1


FORMULAS = {
    "center": (Center, center),
    "standardize": (Standardize, standardize),
    "minmax": (MinMax, minmax),
    "minmax_symmetric": (lambda per: MinMax(per=per, low=-1.0, high=1.0), minmax_symmetric),
}


def test_per_image_standardizes_every_image_by_itself_and_leaves_one_colour_at_0():
    x = np.concatenate([PIXELS, np.full((1, 4, 3, 3), 77, np.uint8)])
    ours = PerImage().fit(PIXELS[:1]).apply(x)
    flat = PIXELS.reshape(50, -1).astype(np.float64)
    expected = (flat - flat.mean(1)[:, None]) / flat.std(1)[:, None]
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours[:50].reshape(50, -1), expected, atol=1e-5)
    assert (ours[50] == 0).all()


def test_per_image_needs_images():
    with pytest.raises(UserError, match=r"^inputs=per_image: needs images \(H, W, C\), an example has shape \(5,\)$"):
        PerImage().fit(TABLE)


def test_per_image_does_not_blow_up_what_hardly_varies():
    """The deviation counts as at least 1/sqrt(n) of a pixel's 255, as in TensorFlow."""
    x = np.full((1, 4, 3, 3), 77, np.uint8)
    x[0, 0, 0, 0] = 78
    flat = x.reshape(-1).astype(np.float64)
    assert flat.std() < 1 / np.sqrt(36)
    np.testing.assert_allclose(PerImage().fit(x).apply(x).reshape(-1), (flat - flat.mean()) * 6, rtol=1e-4)


@each_kind
@pytest.mark.parametrize("per", ["channel", "feature"])
@pytest.mark.parametrize("name", FORMULAS)
def test_inputs_equal_the_formula(name, per, kind):
    make, formula = FORMULAS[name]
    x = STORED[kind]
    ours = make(per=per).fit(x).apply(x)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, formula(real(x), per), rtol=1e-4, atol=2e-4 * np.abs(real(x)).max())


def test_inputs_none_leaves_pixels_in_0_to_1():
    np.testing.assert_allclose(Identity().fit(PIXELS).apply(PIXELS), real(PIXELS), rtol=1e-6)


def test_inputs_none_leaves_a_table_as_it_is():
    np.testing.assert_array_equal(Identity().fit(TABLE).apply(TABLE), TABLE)


@each_kind
def test_inputs_zca_equals_the_formula(kind):
    x = real(STORED[kind]).reshape(50, -1)
    x = x - x.mean(0)
    left, values, _ = np.linalg.svd(x.T @ x / len(x))
    expected = x @ (left @ np.diag(1 / np.sqrt(values + 1e-3)) @ left.T)
    ours = ZCA(eps=1e-3).fit(STORED[kind]).apply(STORED[kind])
    np.testing.assert_allclose(ours.reshape(50, -1), expected, rtol=1e-3, atol=2e-3)


def test_inputs_zca_gives_the_identity_covariance():
    x = RNG.integers(0, 256, (500, 3, 3, 1), np.uint8)
    white = ZCA(eps=1e-9).fit(x).apply(x).reshape(500, -1).astype(np.float64)
    np.testing.assert_allclose(white.T @ white / 500, np.eye(9), atol=1e-4)


@pytest.mark.parametrize("name", options("inputs"))
def test_inputs_are_fitted_on_the_training_split_only(name):
    from normexp.training.build import build_examples

    config = compose([f"inputs={name}"])
    test = np.full_like(PIXELS[:5], 255)
    one, other = (build_examples(config, fake(PIXELS, test), "cpu")["train"].x for test in (test, PIXELS[:5]))
    np.testing.assert_array_equal(one, other)
    fitted = instantiate(config["inputs"]).fit(PIXELS)
    shown = build_examples(config, fake(PIXELS, test), "cpu")["test"]
    np.testing.assert_allclose(shown.x.numpy(), fitted.apply(test), rtol=1e-6)


FITTED = [name for name in options("inputs") if "fit_on" in compose([f"inputs={name}"])["inputs"]]


def test_inputs_that_take_statistics_can_be_fitted_on_all():
    assert set(options("inputs")) - set(FITTED) == {"none", "binarize", "per_image"}


@pytest.mark.parametrize("name", FITTED)
def test_inputs_fitted_on_all_see_every_split(name):
    from normexp.training.build import build_examples

    config = compose([f"inputs={name}", "inputs.fit_on=all"])
    train, validation, test = PIXELS[:20] // 2, PIXELS[20:30] // 3, PIXELS[30:]
    shown = build_examples(config, fake(train, test, validation), "cpu")
    fitted = instantiate(config["inputs"]).fit(np.concatenate([train, validation, test]))
    for split, x in {"train": train, "validation": validation, "test": test}.items():
        ours = shown[split].x.permute(0, 2, 3, 1) if shown[split].x.shape[1:] != x.shape[1:] else shown[split].x
        np.testing.assert_allclose(ours.numpy(), fitted.apply(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FITTED)
def test_inputs_fitted_on_the_training_split_are_the_same_runs_as_ever(name):
    assert compose([f"inputs={name}", "inputs.fit_on=train"]).name == compose([f"inputs={name}"]).name
    assert compose([f"inputs={name}", "inputs.fit_on=all"]).name != compose([f"inputs={name}"]).name


def test_inputs_identity_is_that_of_runs_before_fit_on():
    assert compose(["inputs=zca", "inputs.eps=0.1"]).name == "digits-cnn-none-seed0-085865c2"


def fake(train: np.ndarray, test: np.ndarray, validation: np.ndarray | None = None):
    from normexp.data.base import Data, Split

    splits = [
        Split(x, np.zeros(len(x), np.int64)) for x in (train, test[:0] if validation is None else validation, test)
    ]
    return Data(*splits, task="classification", classes=("a",))


@pytest.mark.parametrize("name", options("inputs"))
def test_inputs_of_a_constant_feature_are_finite(name):
    x = PIXELS.copy()
    x[:, 0] = 7
    fitted = instantiate(compose([f"inputs={name}", *(["inputs.per=feature"] if name in FORMULAS else [])])["inputs"])
    other = x.copy()
    other[:, 0] = 200  # at test time the feature is not constant
    shown = fitted.fit(x).apply(other)
    assert np.isfinite(shown).all()
    assert np.abs(shown[:, 0]).max() < 1000


@pytest.mark.parametrize("kind", [Center, Standardize])
def test_inputs_constant_feature_is_centered(kind):
    x = np.full((10, 2), 3.0, np.float32)
    np.testing.assert_allclose(kind().fit(x).apply(x), 0, atol=1e-6)


def test_inputs_minmax_constant_feature_goes_to_low():
    x = np.full((10, 2), 3.0, np.float32)
    np.testing.assert_allclose(MinMax(low=-1.0).fit(x).apply(x), -1, atol=1e-6)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0)])
def test_inputs_minmax_meets_the_ends_of_pixels(low, high):
    x = np.arange(256, dtype=np.uint8).reshape(256, 1, 1, 1)
    shown = MinMax(low=low, high=high).fit(x).apply(x)
    assert shown.min() == pytest.approx(low, abs=1e-6)
    assert shown.max() == pytest.approx(high, abs=1e-6)


def test_inputs_minmax_refuses_crossed_ends():
    with pytest.raises(UserError, match=r"inputs\.low=2\.0 must be below inputs\.high=1\.0"):
        instantiate(compose(["inputs=minmax", "inputs.low=2"])["inputs"])


@pytest.mark.parametrize("name", [name for name in options("inputs") if name != "zca"])
def test_inputs_of_pixels_are_those_of_their_values(name):
    fit = instantiate(compose([f"inputs={name}"])["inputs"]).fit
    as_floats = (PIXELS / 255).astype(np.float32)
    np.testing.assert_allclose(fit(PIXELS).apply(PIXELS), fit(as_floats).apply(as_floats), atol=1e-5)


def test_inputs_moments_are_exact_far_from_zero():
    x = (1e4 + RNG.normal(size=(9000, 1))).astype(np.float32)  # more than one chunk
    shown = Standardize().fit(x)
    expected = x.astype(np.float64)
    assert shown.scale.item() == pytest.approx(1 / expected.std(), rel=1e-7)
    assert -shown.shift.item() / shown.scale.item() == pytest.approx(expected.mean(), rel=1e-12)


def test_whitening_is_the_same_on_any_number_of_cores():
    x = np.random.default_rng(0).normal(size=(700, 512)).astype(np.float32)
    matrices = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            matrices.append(ZCA().fit(x).matrix)
    np.testing.assert_array_equal(*matrices)


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "longdouble"])
def test_inputs_of_long_numbers_keep_their_digits_until_they_are_scaled(kind):
    x = (2**30 + np.arange(12)[:, None]).astype(kind)
    for inputs in (Center(), Standardize(), MinMax(), ZCA()):
        assert len(np.unique(inputs.fit(x).apply(x))) == 12


@pytest.mark.parametrize("kind", ["bool", "uint8", "int16", "float16", ">f4"])
def test_inputs_of_short_numbers_are_computed_in_float32(kind):
    assert precision(np.zeros(1, kind)) is np.float32
