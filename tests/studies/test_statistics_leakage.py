"""Only the fit of the inputs differs between the two ways; new examples are seen by neither."""

import math

import numpy as np
import pytest
import torch

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies import statistics_leakage
from normexp.studies.base import StudyContext
from normexp.studies.statistics_leakage import StatisticsLeakage

HOUSES = ["dataset=house_prices", "model=linear", "optim.lr=0.01", "batch_size=10", "steps=20"]


def measured(study: StatisticsLeakage, *overrides: str):
    return study.measure(StudyContext(compose([*HOUSES, *overrides]))).rows[0]


def test_what_is_fitted_on(monkeypatch: pytest.MonkeyPatch):
    seen = []
    real = statistics_leakage.trained

    def spy(config, data):
        seen.append(data)
        return real(config, data)

    monkeypatch.setattr(statistics_leakage, "trained", spy)
    study = StatisticsLeakage(train=10, held_out=20, splits=2)
    train, leaky = measured(study), measured(study, "inputs.fit_on=all")
    first, second, again, _ = seen
    assert (len(first.train), len(first.validation), len(first.test)) == (10, 0, 20)
    assert np.array_equal(first.train.x, again.train.x)  # paired
    assert np.array_equal(first.test.x, again.test.x)
    assert not np.array_equal(first.train.x, second.train.x)
    assert train["held_out_error"] != leaky["held_out_error"]


def test_new_examples_have_no_say(monkeypatch: pytest.MonkeyPatch):
    scored = []
    real = statistics_leakage.error
    monkeypatch.setattr(statistics_leakage, "error", lambda net, new: scored.append((net, new)) or real(net, new))
    measured(StatisticsLeakage(train=10, held_out=20, new=50, splits=1), "inputs.fit_on=all")
    (net, held_out), (_, new) = scored
    assert [len(held_out), len(new)] == [20, 50]
    assert net.batches.examples.transform is held_out.transform is new.transform
    seen = torch.cat([net.batches.examples.x, held_out.x])
    assert torch.allclose(seen.mean(0), torch.zeros(3), atol=1e-5)  # neither, alone, has this mean


def test_whitening_of_too_few_examples_needs_all_that_it_can_get():
    study = StatisticsLeakage(train=10, held_out=30, splits=6, heavy_tailed=10)
    honest, leaky = measured(study, "inputs=zca"), measured(study, "inputs=zca", "inputs.fit_on=all")
    assert leaky["held_out_error"] < 0.1 * honest["held_out_error"]
    assert leaky["new_error"] < 0.1 * honest["new_error"]


def test_added_inputs_are_drawn_once_per_seed():
    study = StatisticsLeakage(splits=1, heavy_tailed=3)
    assert measured(study) == measured(study)
    assert measured(study) != measured(study, "seed=1")


@pytest.mark.parametrize(
    ("study", "overrides", "said"),
    [
        (StatisticsLeakage(), ["inputs=none"], "inputs=none takes no statistics"),
        (StatisticsLeakage(train=990), [], "there are 1000 examples"),
        (StatisticsLeakage(heavy_tailed=2), ["dataset=digits"], "dataset=digits is no table"),
    ],
)
def test_mistakes(study: StatisticsLeakage, overrides: list[str], said: str):
    with pytest.raises(UserError, match=said):
        measured(study, *overrides)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("errors", "optimism"), [((0.0, 0.1), math.inf), ((0.1, 0.0), -math.inf), ((0.0, 0.0), math.nan)]
)
def test_few_examples_that_are_all_right_make_no_warning(
    monkeypatch: pytest.MonkeyPatch, errors: tuple[float, float], optimism: float
):
    monkeypatch.setattr(StatisticsLeakage, "_errors", lambda *_: errors)
    np.testing.assert_equal(measured(StatisticsLeakage(train=10, held_out=20, splits=2))["optimism"], optimism)
