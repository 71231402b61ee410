"""Population statistics: averages over training examples, in place of running averages over the training."""

import pytest
import torch
from torch import nn

from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.networks.population import BATCH, EXAMPLES
from normexp.norms.recurrent_batch import RecurrentBatchNorm
from normexp.norms.spectral import SpectralNorm
from normexp.norms.stack import Stack


def examples(n: int) -> torch.Tensor:
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(0)) * 2 + 1


def network(norm: Norm) -> nn.Module:
    return nn.Sequential(norm.block(nn.Linear(3, 4), nn.ReLU()), nn.Dropout(0.5), norm.block(nn.Linear(4, 2)))


class Inputs:
    """Training inputs that remember how many of them were asked for."""

    def __init__(self, n: int) -> None:
        self.x, self.asked = examples(n), list[int]()

    def __call__(self, count: int) -> torch.Tensor:
        self.asked.append(count)
        return self.x[:count]


@pytest.mark.parametrize("n", [40, 2 * BATCH, 2 * BATCH + 7])
def test_batch_estimates_are_averages_over_whole_batches(n):
    norm, inputs = BatchNorm(estimates="population"), Inputs(n)
    model = network(norm)
    model(examples(30) - 5)  # leaves running estimates that must not show
    norm.before_evaluation(model, inputs)
    linear, first = model[0][0], model[0][1]
    used = n // BATCH * BATCH or n
    parts = linear(inputs.x[:used]).split(BATCH)
    torch.testing.assert_close(first.running_mean, torch.stack([part.mean(0) for part in parts]).mean(0))
    torch.testing.assert_close(first.running_var, torch.stack([part.var(0) for part in parts]).mean(0))
    assert first.momentum == 0.1
    assert all(module.training for module in model.modules())
    assert inputs.asked == [EXAMPLES]


def test_the_network_is_as_in_training_and_nothing_else_moves():
    norm, inputs = BatchNorm(estimates="population"), Inputs(50)
    model = nn.Sequential(network(norm), nn.BatchNorm1d(2))
    model(inputs.x)
    other = {name: value.clone() for name, value in model[1].state_dict().items()}
    torch.manual_seed(3)
    norm.before_evaluation(model, inputs)
    torch.manual_seed(3)
    hidden = model[0][1](nn.functional.relu(model[0][0][:2](inputs.x)))  # with dropout
    torch.testing.assert_close(model[0][2][1].running_mean, model[0][2][0](hidden).mean(0))
    assert all(torch.equal(other[name], value) for name, value in model[1].state_dict().items())


def test_power_iterations_of_another_part_stay_where_they_are():
    norm, inputs = Stack(weights=SpectralNorm(), activations=BatchNorm(estimates="population")), Inputs(50)
    model = network(norm)
    before = {name: value.clone() for name, value in model.state_dict().items() if "parametrizations" in name}
    norm.before_evaluation(model, inputs)
    after = {name: value for name, value in model.state_dict().items() if name in before}
    assert before
    assert all(torch.equal(before[name], value) for name, value in after.items())


class Counts(nn.Module):
    """Counts batches in a buffer that is another tensor each time."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = self.seen + 1
        return x


def test_a_buffer_that_is_replaced_in_every_pass_is_put_back():
    norm = BatchNorm(estimates="population")
    model = nn.Sequential(norm.block(nn.Linear(3, 4)), Counts())
    norm.before_evaluation(model, Inputs(50))
    assert model[1].seen == 0


def test_running_estimates_stay_as_they_are():
    norm, inputs = BatchNorm(), Inputs(50)
    model = network(norm)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    norm.before_evaluation(model, inputs)
    assert inputs.asked == []
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_a_stack_passes_it_on():
    inner, inputs = BatchNorm(estimates="population"), Inputs(50)
    norm = Stack(activations=inner)
    model = network(norm)
    norm.before_evaluation(model, inputs)
    torch.testing.assert_close(model[0][1].running_mean, model[0][0](inputs.x).mean(0))


class Ragged(nn.Module):
    """Sequences of length 3, of which only the first five reach the last step."""

    def __init__(self, norm: Norm) -> None:
        super().__init__()
        self.step = norm.recurrent(1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.step((x if t < 2 else x[:5])[:, t : t + 1], t) for t in range(3)])


def test_every_time_step_has_its_own():
    norm, inputs = RecurrentBatchNorm(), Inputs(2 * BATCH + 7)
    model = Ragged(norm)
    model(inputs.x * 3 - 2)  # leaves running estimates that must not show
    norm.before_evaluation(model, inputs)
    torch.testing.assert_close(model.step.population.mean[:2, 0], inputs.x[:, :2].mean(0))
    torch.testing.assert_close(model.step.population.var[2, 0], inputs.x[:5, 2].var())
    assert model.step.momentum == 0.1
    trained = model(inputs.x)
    torch.testing.assert_close(model.eval()(inputs.x), trained, rtol=0, atol=0.02)  # all but the unbiased variance


def test_other_words_are_refused():
    with pytest.raises(ValueError, match=r"^estimates must be 'running' or 'population', not 'moving'$"):
        BatchNorm(estimates="moving")
    with pytest.raises(ValueError, match=r"^estimates must be 'population', 'running' or 'batch', not 'moving'$"):
        RecurrentBatchNorm(estimates="moving")
    with pytest.raises(ValueError, match="estimates=population needs running=torch"):
        BatchNorm(estimates="population", running="source")
