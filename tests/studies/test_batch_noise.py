"""The noise of the batch: what is known of it by formulas, and moments beside SciPy's."""

import math

import pytest
import torch
from scipy import stats

from normexp.config import compose
from normexp.studies.base import StudyContext
from normexp.studies.batch_noise import VALUES, BatchNoise, moments

EXCESS = {"normal": 0.0, "exponential": 6.0, "laplace": 3.0}


def measured(norm, **options):
    return BatchNoise(sizes=(4, 32), rounds=10, **options).measure(StudyContext(compose([f"norm={norm}"]))).rows


@pytest.mark.parametrize("values", VALUES)
def test_noise_of_mean_only_is_that_of_the_mean_of_the_others(values):
    for row in measured("mean_only", values=values):
        others = row["step"] - 1
        assert row["deviation"] == pytest.approx(math.sqrt(others) / row["step"], rel=0.02)
        assert row["excess_kurtosis"] == pytest.approx(EXCESS[values] / others, abs=0.25)


def test_noise_of_batch_norm_beside_its_formula():
    generator = torch.Generator().manual_seed(3)
    batch = torch.randn((40_000, 4), dtype=torch.double, generator=generator)
    batch[:, 0] = 1.0
    noise = (1.0 - batch.mean(1)) / batch.std(1, correction=0)
    assert measured("batch")[0]["deviation"] == pytest.approx(float(noise.std()), rel=0.02)
    assert measured("batch")[0]["skewness"] == pytest.approx(float(stats.skew(noise.numpy())), abs=0.05)


def test_where_there_is_no_noise_is_no_shape():
    row = measured("none")[0]
    assert row["deviation"] == 0
    assert all(math.isnan(row[name]) for name in ("skewness", "excess_kurtosis", "beyond"))


def test_moments_are_those_of_scipy():
    noise = torch.empty(1000, dtype=torch.double).exponential_(generator=torch.Generator().manual_seed(0))
    found = moments(noise)
    assert found["deviation"] == pytest.approx(noise.numpy().std(), rel=1e-12)
    assert found["skewness"] == pytest.approx(stats.skew(noise.numpy()), rel=1e-9)
    assert found["excess_kurtosis"] == pytest.approx(stats.kurtosis(noise.numpy()), rel=1e-9)
    assert found["beyond"] == (abs(stats.zscore(noise.numpy())) > 4).mean() > 0


@pytest.mark.parametrize("values", VALUES)
def test_values_have_mean_0_and_deviation_1(values):
    drawn = VALUES[values]((200_000,), torch.Generator().manual_seed(0))
    assert abs(float(drawn.mean())) < 0.01
    assert float(drawn.std()) == pytest.approx(1, rel=0.02)
    assert stats.kurtosis(drawn.numpy()) == pytest.approx(EXCESS[values], abs=0.5)


def test_seeds_draw_other_batches():
    first, second = (
        BatchNoise(sizes=(4,), rounds=1).measure(StudyContext(compose(["norm=batch", f"seed={seed}"]))).rows[0]
        for seed in (0, 1)
    )
    assert first["deviation"] != second["deviation"]
