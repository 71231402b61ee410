"""Data that is generated or printed: covariate shift, house prices; and the digits."""

import numpy as np
import pytest

from normexp.data import covariate_shift, house_prices
from normexp.data.adding import Adding
from normexp.data.base import Dataset
from normexp.data.copying import Copying
from normexp.data.covariate_shift import CovariateShift
from normexp.data.digits import Digits
from normexp.data.house_prices import HousePrices
from normexp.errors import UserError

SMALL = {"examples": 300, "test": 100, "validation": 50}


@pytest.mark.parametrize("dimension", [1, 5])
def test_covariate_shift_has_the_distance_between_its_domains(dimension: int) -> None:
    data = CovariateShift(dimension=dimension, shift=4, examples=20_000).load(0)
    distance = np.linalg.norm(data.test.x.mean(axis=0) - data.train.x.mean(axis=0))
    assert distance == pytest.approx(4, abs=0.05)
    assert data.input_shape == (dimension,)


def test_covariate_shift_has_one_law_in_both_domains() -> None:
    data = CovariateShift(noise=0.2, examples=20_000).load(0)
    for split in (data.train, data.validation, data.test):
        residual = split.y - covariate_shift.law(split.x)
        assert residual.mean() == pytest.approx(0, abs=0.05)
        assert residual.std() == pytest.approx(0.2, abs=0.02)


def test_covariate_shift_stays_in_its_boxes() -> None:
    data = CovariateShift(shift=3, width=2).load(0)
    assert data.train.x.max() <= -0.5
    assert data.test.x.min() >= 0.5


def test_covariate_shift_asks_for_different_linear_fits() -> None:
    data = CovariateShift(noise=0.0).load(0)
    slopes = [np.polyfit(split.x[:, 0], split.y[:, 0], 1)[0] for split in (data.train, data.test)]
    assert abs(slopes[0] - slopes[1]) > 0.5


def test_covariate_shift_holds_out_from_the_training_domain() -> None:
    data = CovariateShift(validation=100).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (900, 100, 1000)
    assert data.validation.x.max() < 0


@pytest.mark.parametrize("dataset", [CovariateShift(), HousePrices(), Adding(**SMALL), Copying(**SMALL)])
def test_generated_data_follows_the_run_seed(dataset: Dataset) -> None:
    first, again, other = (dataset.load(seed).fingerprint for seed in (0, 0, 1))
    assert first == again != other


def test_house_prices_of_the_lecture_are_as_printed() -> None:
    data = HousePrices(source="lecture", standardize_target=False).load(0)
    assert data.train.x.mean(axis=0).tolist() == [140, 2.75, 5925]  # equation after (2)
    assert data.train.x.var(axis=0)[:2].tolist() == [3306.5, 1.1875]
    assert data.train.y[:, 0].tolist() == [1550, 2286, 2930, 196]


def test_house_prices_of_the_lecture_say_that_there_is_no_split() -> None:
    data = HousePrices(source="lecture").load(0)
    assert "four rows" in data.note
    np.testing.assert_array_equal(data.validation.x, data.test.x)


def test_house_prices_follow_their_law() -> None:
    data = HousePrices(examples=20_000, noise=50, standardize_target=False).load(0)
    residual = data.train.y - house_prices.law(data.train.x)
    assert residual.std() == pytest.approx(50, abs=2)
    assert data.train.y.min() > 0


def test_house_prices_are_split() -> None:
    data = HousePrices().load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (700, 100, 200)


def test_unknown_source_is_told_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"dataset\.source 'lectures' .*did you mean lecture\?"):
        HousePrices(source="lectures").load(0)


def test_house_prices_need_examples_beyond_the_test_split() -> None:
    with pytest.raises(UserError, match=r"dataset\.test=200: must be less than dataset\.examples=100"):
        HousePrices(examples=100).load(0)


def test_digits_have_a_balanced_test_split() -> None:
    data = Digits().load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (1257, 180, 360)
    assert np.bincount(data.test.y).tolist() == [36] * 10


def test_digits_need_examples_beyond_the_test_split() -> None:
    with pytest.raises(UserError, match=r"dataset\.test=1797: there are only 1797 examples in all"):
        Digits(test=1797).load(0)
