"""Estimates for test time, against torch's own running statistics and the definitions."""

import pytest
import torch
from torch import nn

from normexp.config import compose
from normexp.errors import UserError
from normexp.evidence.audit import CORRECT, WRONG, judged
from normexp.norms.batch import BatchNorm
from normexp.report.experiment.printed import own_schemes
from normexp.studies.arithmetic.estimates import Statistics, average, exponential, observed
from normexp.studies.base import StudyContext
from normexp.studies.running_statistics import RunningStatistics, conventions, evaluated_steps, put

TINY = ["study=running_statistics", "norm=batch", "model=mlp", "model.widths=[8,6]", "steps=5", "threads=1"]


@pytest.fixture
def batches():
    source = torch.Generator().manual_seed(1)
    return [torch.randn(6, 3, 4, generator=source, dtype=torch.double) * (k + 1) + k for k in range(5)]


def seen(layer, batches):
    return [observed([layer], lambda batch=batch: layer(batch)) for batch in batches]


def measure(*overrides):
    config = compose([*TINY, *overrides])
    study = RunningStatistics(**{key: value for key, value in config["study"].items() if key != "_target_"})
    setup = StudyContext(config)
    return study.measure(setup), setup


def test_observed_statistics_are_those_of_all_positions(batches):
    found = observed([layer := nn.BatchNorm1d(3).double()], lambda: layer(batches[2]))
    torch.testing.assert_close(found.mean, batches[2].mean((0, 2)))
    torch.testing.assert_close(found.var, batches[2].var((0, 2), correction=0))
    assert found.count.tolist() == [24, 24, 24]


@pytest.mark.parametrize("momentum", [0.1, 0.9])
def test_exponential_average_of_variances_is_torchs(batches, momentum):
    layer = nn.BatchNorm1d(3, momentum=momentum).double()
    found = exponential(seen(layer, batches), momentum, "variance", 1.0)
    torch.testing.assert_close(found.mean, layer.running_mean)
    torch.testing.assert_close(found.var, layer.running_var)


def test_exponential_average_of_deviations_is_the_notes(batches):
    layer = BatchNorm(running="source", momentum=0.9).normalization(3).double()
    found = exponential(seen(layer, batches), 0.9, "deviation", 0.0)
    torch.testing.assert_close(found.mean, layer.running_mean)
    torch.testing.assert_close(found.std, layer.running_std)


def test_average_is_that_of_the_papers_algorithm(batches):
    layer = nn.BatchNorm1d(3, momentum=None).double()  # torch's cumulative average
    found = average(seen(layer, batches), unbiased=True)
    torch.testing.assert_close(found.mean, layer.running_mean)
    torch.testing.assert_close(found.var, layer.running_var)
    torch.testing.assert_close(average(seen(layer, batches), unbiased=False).var, found.var * 23 / 24)


def test_deviations_average_below_the_root_of_the_variance(batches):
    history = seen(nn.BatchNorm1d(3).double(), batches)
    deviation, variance = (exponential(history, 0.1, of, 0.0).std for of in ("deviation", "variance"))
    assert (deviation < variance * (23 / 24) ** 0.5).all()


def test_evaluation_uses_what_was_put():
    layers = [nn.BatchNorm1d(2, eps=1e-30), nn.BatchNorm1d(1, eps=1e-30)]
    put(layers, Statistics(torch.tensor([1.0, 2, 3]), torch.tensor([4.0, 9, 16]), torch.ones(3)))
    assert layers[0].eval()(torch.tensor([[5.0, 11]])).tolist() == [[2, 3]]
    assert layers[1].eval()(torch.tensor([[-1.0]])).tolist() == [[-1]]


def test_looks():
    assert evaluated_steps(190) == {1, 2, 5, 10, 20, 50, 100, 190}
    assert evaluated_steps(1) == {1}


def test_reference_has_no_error_and_others_have():
    reference, _ = measure("study.estimate=whole")
    assert [row["step"] for row in reference.rows] == [1, 2, 5]
    assert all(row["mean_error"] == row["deviation_error"] == 0 for row in reference.rows)
    running, _ = measure()
    assert running.rows[-1]["mean_error"] > 0.05


def test_fixed_weights_are_nearer_than_the_training_so_far():
    errors = [
        measure(f"study.estimate={name}")[0].rows[-1]["mean_error"] for name in ("population", "training_average")
    ]
    assert errors[0] < 0.2 * errors[1]


def test_every_estimate_sees_the_same_training():
    weights = [
        [parameter.detach() for parameter in measure(f"study.estimate={name}")[1].components.model.parameters()]
        for name in ("whole", "population", "exponential")
    ]
    for other in weights[1:]:
        assert all(map(torch.equal, weights[0], other))


@pytest.mark.parametrize(
    ("overrides", "message"), [(["norm=layer"], "no batch normalization"), (["dataset=house_prices"], "has no classes")]
)
def test_what_does_not_fit_is_refused(overrides, message):
    with pytest.raises(UserError, match=message):
        measure(*overrides)


def test_convention_of_momentum_is_measured_with_torch():
    found = {number.quantity: number for number in conventions()}
    verdicts = [judged(n.printed, str(n.computed), "" if n.agrees is None else str(n.agrees)) for n in found.values()]
    assert verdicts == [CORRECT, WRONG, CORRECT, WRONG, WRONG]
    weight = found["alpha, the weight of the old estimate, is what PyTorch calls momentum"]
    assert weight.computed == "batch {1, 3}: 1.8 by this formula, 0.2 in torch"
    averaged = found["what PyTorch averages for testing is the deviation"]
    assert {number.quantity for number in found.values()} > set(own_schemes("running_statistics")) > {averaged.quantity}
    assert averaged.computed == "batch {1, 3}: running_var 1.1; the average of unbiased variances gives 1.1"
