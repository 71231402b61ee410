"""Covariate shift beyond the slides: either domain on either side, and importance weights."""

import numpy as np
import pytest

from normexp.data import covariate_shift
from normexp.data.covariate_shift import CovariateShift, effective_size, resample
from normexp.errors import UserError

PINNED = {  # what earlier versions drew: committed runs name these
    "default": ({}, "1b3a8149a1b739aafca3c450f6564c554ec8a9a559089d999324abd22f8b0072"),
    "in 4 dimensions": (
        {"dimension": 4, "shift": 1.0, "validation": 0},
        "2ed4312db9f450dad19f1972d9514eb023a1b08ac1a3358c13c7dac5bf9a2d46",
    ),
}


@pytest.mark.parametrize(("options", "expected"), PINNED.values(), ids=PINNED)
def test_covariate_shift_draws_what_it_always_drew(options, expected: str) -> None:
    assert CovariateShift(**options).load(0).fingerprint == expected


def test_covariate_shift_domains_can_be_exchanged() -> None:
    there, back = CovariateShift().load(0), CovariateShift(domain="b", test_domain="a").load(0)
    assert there.train.x.max() < 0 < back.train.x.min()
    assert back.test.x.max() < 0 < there.test.x.min()


def test_covariate_shift_within_a_domain_tests_on_other_examples() -> None:
    for name in "ab":
        data = CovariateShift(domain=name, test_domain=name).load(0)
        assert not np.isin(data.test.x, data.train.x).any()


@pytest.mark.parametrize("test_domain", ["a", "b"])
def test_covariate_shift_test_split_is_the_same_for_every_training_domain(test_domain: str) -> None:
    tests = [CovariateShift(domain=name, test_domain=test_domain).load(0).test for name in ("a", "b", "both")]
    for test in tests[1:]:
        np.testing.assert_array_equal(test.y, tests[0].y)


def test_covariate_shift_of_both_domains_has_half_from_each() -> None:
    data = CovariateShift(domain="both", examples=101, validation=0).load(0)
    assert ((data.train.x < 0).sum(), (data.train.x > 0).sum()) == (51, 50)


def test_covariate_shift_normal_density_has_the_variance_of_the_box() -> None:
    for density in ("box", "normal"):
        data = CovariateShift(density=density, width=3, examples=50_000, validation=0).load(0)
        assert data.train.x.var() == pytest.approx(9 / 12, rel=0.03)
        assert data.train.x.mean() == pytest.approx(-1.5, abs=0.02)


WEIGHTED = {
    "overlapping boxes": {"shift": 1.0},
    "boxes in 3 dimensions": {"shift": 1.0, "dimension": 3},
    "normal": {"density": "normal", "shift": 0.7},
    "normal in 3 dimensions": {"density": "normal", "shift": 0.7, "dimension": 3},
    "both domains": {"density": "normal", "domain": "both", "shift": 2.0},
    "both domains, disjoint boxes": {"domain": "both"},
    "backwards": {"density": "normal", "domain": "b", "test_domain": "a", "shift": 0.7},
}


@pytest.mark.parametrize("options", WEIGHTED.values(), ids=WEIGHTED)
def test_importance_weights_turn_training_inputs_into_test_inputs(options) -> None:
    """Weighted, they have the test inputs' histogram, as far as the training domain reaches."""
    dataset = CovariateShift(examples=100_000, validation=0, **options)
    data = dataset.load(0)
    train, test = data.train.x.mean(axis=1), data.test.x.mean(axis=1)
    if "density" not in options and "domain" not in options:
        reach = dataset.width / 2 - dataset.shift / 2 * dataset.dimension**-0.5  # of domain A's boxes, beyond 0
        test = test[(data.test.x <= reach).all(axis=1)]
    edges = np.linspace(-2, 2, 21)
    weighted, _ = np.histogram(train, edges, density=True, weights=dataset.importance(data.train.x))
    expected, _ = np.histogram(test, edges, density=True)
    np.testing.assert_allclose(weighted, expected, atol=0.06)
    assert dataset.importance(data.train.x).max() == 1


def test_importance_resampling_gives_the_test_domain_mean() -> None:
    dataset = CovariateShift(density="normal", shift=0.7, examples=50_000, validation=0, importance_weights=True)
    data = dataset.load(0)
    assert data.train.x.mean() == pytest.approx(0.35, abs=0.03)
    assert data.train.x.var() == pytest.approx(1 / 3, rel=0.1)


def test_importance_resampling_keeps_sizes_pairs_and_other_splits() -> None:
    plain, weighted = (CovariateShift(shift=1.0, noise=0.0, importance_weights=on).load(0) for on in (False, True))
    assert len(weighted.train) == len(plain.train) == 800
    np.testing.assert_array_equal(weighted.validation.x, plain.validation.x)
    np.testing.assert_array_equal(weighted.test.x, plain.test.x)
    assert np.isin(weighted.train.x, plain.train.x).all()
    assert weighted.train.x.min() >= 0.5 - 1 - 1e-5  # the left side of domain B's box
    np.testing.assert_allclose(weighted.train.y, covariate_shift.law(weighted.train.x), atol=1e-6)


def test_importance_resampling_without_shift_changes_nothing() -> None:
    plain, weighted = (CovariateShift(shift=0.0, importance_weights=on).load(0) for on in (False, True))
    assert plain.fingerprint == weighted.fingerprint


def test_importance_weights_of_disjoint_boxes_are_refused() -> None:
    with pytest.raises(UserError, match=r"no training example lies where domain b does .*dataset\.density=normal"):
        CovariateShift(importance_weights=True).load(0)


def test_importance_weights_of_few_examples_say_so(caplog: pytest.LogCaptureFixture) -> None:
    CovariateShift(density="normal", shift=0.2, importance_weights=True).load(0)
    assert not caplog.messages
    CovariateShift(density="normal", shift=3, importance_weights=True).load(0)
    assert "the 800 training examples are worth" in caplog.text


def test_effective_size() -> None:
    assert effective_size(np.full(7, 0.3)) == pytest.approx(7)
    assert effective_size(np.array([1.0, 0, 0])) == 1


def test_resample_counts_are_the_weights_rounded_up_or_down() -> None:
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=1000) * (rng.uniform(size=1000) < 0.8)
    expected = weights / weights.sum() * 1000
    counts = np.mean([np.bincount(resample(weights, rng), minlength=1000) for _ in range(400)], axis=0)
    once = np.bincount(resample(weights, rng), minlength=1000)
    assert (np.abs(once - expected) < 1).all()
    np.testing.assert_allclose(counts, expected, atol=0.15)


def test_resample_never_draws_an_example_of_weight_0() -> None:
    class Zero:
        def uniform(self) -> float:
            return 0.0

    assert resample(np.array([0, 1.0, 0, 1.0]), Zero()).tolist() == [1, 1, 3, 3]


@pytest.mark.parametrize("option", [{"density": "boxes"}, {"domain": "c"}, {"test_domain": "both"}])
def test_covariate_shift_unknown_names_are_told(option) -> None:
    with pytest.raises(UserError, match=rf"dataset\.{next(iter(option))} .* does not exist; allowed: "):
        CovariateShift(**option).load(0)
