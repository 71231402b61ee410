"""The spectrum of the inputs against NumPy's, what each normalization does to it, patches, mistakes."""

import numpy as np
import pytest

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies.base import StudyContext
from normexp.studies.conditioning import Conditioning

HOUSES = ["dataset=house_prices", "model=mlp", "model.widths=[8]", "model.activation=sigmoid"]


def measured(study: Conditioning, *overrides: str):
    return study.measure(StudyContext(compose([*HOUSES, *overrides])))


def test_raw_spectrum_is_that_of_the_training_inputs():
    setup = StudyContext(compose([*HOUSES, "inputs=none"]))
    (row,) = Conditioning().measure(setup).rows
    x = setup.data.train.x.astype(np.float64)
    expected = np.linalg.eigvalsh(x.T @ x / len(x))
    assert row["lambda_max"] == pytest.approx(expected[-1])
    assert row["condition"] == pytest.approx(expected[-1] / expected[0], rel=1e-6)
    assert row["stable_rate"] == pytest.approx(2 / expected[-1], rel=1e-6)
    assert row["same_sign"] == 1


def test_standardized_inputs_have_the_correlation_matrix():
    setup = StudyContext(compose([*HOUSES, "inputs=standardize"]))
    (row,) = Conditioning().measure(setup).rows
    values = np.linalg.eigvalsh(np.corrcoef(setup.data.train.x.T.astype(np.float64)))
    assert row["condition"] == pytest.approx(values[-1] / values[0], rel=1e-4)
    assert row["same_sign"] < 0.6


def test_scaling_alone_keeps_the_mean():
    (centred,) = measured(Conditioning()).rows
    (kept,) = measured(Conditioning(subtract=False)).rows
    assert kept["lambda_max"] > 3 * centred["lambda_max"]
    assert kept["same_sign"] == 1


def test_whitened_inputs_need_no_more_than_the_steps_of_one_direction():
    outcome = measured(Conditioning(rate=0.5), "inputs=zca")
    assert outcome.rows[0]["condition"] == pytest.approx(1, abs=1e-4)
    assert outcome.rows[0]["steps"] == 7  # 0.5^7 is the first below 0.01
    assert [row["index"] for row in outcome.tables["spectrum"]] == [1, 2, 3]


def test_patches_come_from_the_images():
    setup = StudyContext(compose(["inputs=none"]))
    patches = Conditioning(patch=3, count=20).inputs(setup.config, setup.data).x
    assert patches.shape == (20, 3, 3, 1)
    images = Conditioning(count=20).inputs(setup.config, setup.data).x
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))[:, :, :, 0]
    for patch, places in zip(patches[..., 0], windows, strict=True):
        assert (places == patch).all(axis=(2, 3)).any()


@pytest.mark.parametrize(
    ("study", "overrides", "said"),
    [(Conditioning(patch=4), HOUSES, "no images"), (Conditioning(patch=9), ["model=mlp"], "8 x 8 pixels")],
)
def test_patches_that_cannot_be_had(study: Conditioning, overrides: list[str], said: str):
    with pytest.raises(UserError, match=said):
        study.measure(StudyContext(compose(overrides)))
