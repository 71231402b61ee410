"""The training loop on plain tensors."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, repeat

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normexp.norms.base import Norm
from normexp.training.components import Components
from normexp.training.fit import Update, fit, make_step
from normexp.training.metrics import MetricAccumulator, evaluate
from normexp.training.task import Classification, Regression

CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Penalty(Norm):
    """A scheme that does nothing but add to the loss."""

    of: Callable[[nn.Module], torch.Tensor]

    def penalty(self, model: nn.Module) -> torch.Tensor:
        return self.of(model)


def components_of(model: nn.Module, optimizer: torch.optim.Optimizer | None = None, **more: object) -> Components:
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    more = {"schedule": lambda step: {"lr": 0.1}, "steps": 20, **more}
    return Components(model=model, task=Classification(), optimizer=optimizer, batches=None, **more)


@pytest.fixture
def problem():
    """A network and one batch that it can learn."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
    x = torch.randn(60, 4)
    return model, (x, x[:, :3].argmax(1))


def run(problem, start=0, stop=20, **more) -> list[Update]:
    model, batch = problem
    more = {"schedule": lambda step: {"lr": 0.5}, **more}
    return list(fit(components_of(model, **more), start, stop, batches=repeat(batch)))


def accumulated(updates: list[Update], capacity: int) -> MetricAccumulator:
    accumulator = MetricAccumulator(Classification(), capacity, CPU)
    for update in updates:
        accumulator.add(update)
    return accumulator


def test_fit_makes_the_loss_go_down(problem):
    updates = run(problem)
    assert [update.done for update in updates] == list(range(1, 21))
    assert updates[-1].loss < 0.5 * updates[0].loss


def test_fit_does_a_step_only_when_it_is_asked_for_one(problem):
    model, batch = problem
    updates = fit(components_of(model), 5, batches=repeat(batch))
    assert [update.done for update in islice(updates, 3)] == [6, 7, 8]
    before = copy.deepcopy(model.state_dict())
    updates.close()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_fit_takes_no_batch_that_it_does_not_use(problem):
    model, batch = problem
    batches = iter([batch] * 5)
    list(fit(components_of(model), 0, 3, batches))
    assert len(list(batches)) == 2


def test_fit_uses_the_schedule_of_each_step(problem):
    model, batch = problem
    optimizer = torch.optim.SGD(model.parameters(), lr=9.0)
    components = components_of(model, optimizer, schedule=lambda step: {"lr": step / 10})
    used = [optimizer.param_groups[0]["lr"] for _ in fit(components, 3, 6, repeat(batch))]
    assert used == [0.3, 0.4, 0.5]


def test_fit_from_step_0_depends_on_no_random_state_of_the_process(problem):
    losses = []
    for state in (1, 2):
        torch.manual_seed(state)
        losses.append([float(update.loss) for update in run(copy.deepcopy(problem), stop=5)])
    assert losses[0] == losses[1]
    torch.manual_seed(3)
    assert losses[0] != [float(update.loss) for update in run(copy.deepcopy(problem), stop=5, seed=1)]


def test_fit_from_a_later_step_goes_on_in_the_stream_as_it_is(problem):
    torch.manual_seed(1)
    expected = torch.rand(3)
    model = nn.Linear(4, 3)
    torch.manual_seed(1)
    run((model, problem[1]), start=5, stop=6)
    assert torch.equal(torch.rand(3), expected)


def test_fit_the_penalty_acts_but_is_no_part_of_the_loss(problem):
    model, (x, y) = problem
    first = model[0].weight
    with torch.no_grad():
        plain = F.cross_entropy(model.eval()(x), y)
    model.train()
    model[3].p = 0.0
    model[1].momentum = None
    norm = Penalty(of=lambda model: 1000 * first.square().sum())
    (update,) = run(problem, stop=1, norm=norm, schedule=lambda step: {"lr": 0.1})
    assert abs(update.loss - plain) < 1
    assert first.abs().max() > 10  # pulled far beyond zero


def test_fit_calls_what_is_to_follow_an_update_after_it(problem):
    model, seen = problem[0], []
    weight = model[0].weight
    before = weight.detach().clone()
    run(problem, stop=1, after_update=lambda: seen.append(torch.equal(weight, before)))
    assert seen == [False]


# --- Clipping. ---

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"momentum": 0.9}, {"fused": True}),
    "adam": (torch.optim.Adam, {}, {"fused": True}),
    "rmsprop": (torch.optim.RMSprop, {}, {}),  # torch has no fused one
}


def two_networks() -> tuple[nn.Module, nn.Module, torch.Tensor, torch.Tensor]:
    """Two equal networks, one parameter of which never has a gradient, and a batch."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    model.register_parameter("unused", nn.Parameter(torch.ones(5)))
    x = torch.randn(30, 4, dtype=torch.float64)
    return model, copy.deepcopy(model), x, x[:, :3].argmax(1)


def penalty_of(model: nn.Module) -> torch.Tensor:
    return 10 * model[0].weight.square().sum()


@pytest.mark.parametrize(("make", "options", "fused"), OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_clip_scales_the_whole_gradient_to_the_norm(make, options, fused):
    """Against a factor computed by hand from the gradient of loss and penalty together, and a plain optimizer."""
    model, other, x, y = two_networks()
    optimizer, reference = (
        make(model.parameters(), lr=0.1, **options, **fused),
        make(other.parameters(), lr=0.1, **options),
    )
    step = make_step(components_of(model, optimizer, norm=Penalty(of=penalty_of), clip_norm=0.5))
    for _ in range(3):
        step(x, y)
        reference.zero_grad()
        (F.cross_entropy(other(x).float(), y) + penalty_of(other)).backward()
        gradients = [p.grad for p in other.parameters() if p.grad is not None]
        norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients))
        assert norm > 0.5
        for gradient in gradients:
            gradient *= 0.5 / (norm + 1e-6)
        reference.step()
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=0)


def test_clip_leaves_shorter_gradients_to_the_bit():
    model, other, x, y = two_networks()
    for each, clip_norm in ((model, 1e3), (other, None)):
        step = make_step(components_of(each, clip_norm=clip_norm))
        for _ in range(3):
            step(x, y)
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("factor", [1e25, float("inf"), float("nan")], ids=["squares overflow", "inf", "nan"])
def test_clip_of_a_norm_that_is_not_finite_is_told_by_the_next_loss(factor):
    torch.manual_seed(0)
    model, x = nn.Linear(4, 3), torch.randn(20, 4)
    y = x[:, :3].argmax(1)
    norm = Penalty(of=lambda model: factor * model.bias.sum())
    updates = fit(components_of(model, norm=norm, clip_norm=1.0), 0, 2, repeat((x, y)))
    assert accumulated(list(updates), 2).first_nonfinite() == 1


# --- Metrics. ---


def test_accumulator_has_the_mean_over_its_updates(problem):
    updates = run(problem, stop=4)
    accumulator = accumulated(updates, 4)
    measured = accumulator.metrics()
    assert measured["loss"] == pytest.approx(sum(float(update.loss) for update in updates) / 4)
    assert measured["accuracy"] == pytest.approx(accumulator.num_correct.item() / 240)
    assert 0 < measured["accuracy"] < 1


def test_accumulator_restored_goes_on_where_it_was(problem):
    accumulator = accumulated(run(problem, stop=4), 4)
    other = MetricAccumulator(Classification(), 6, CPU)
    other.restore(accumulator.losses[:4].clone(), accumulator.num_correct.clone(), batch_size=60)
    assert other.metrics() == accumulator.metrics()
    other.add(Update(5, torch.tensor(7.0), torch.eye(3), torch.arange(3)))
    assert (other.steps, other.last_loss(), other.examples) == (5, 7.0, 243)


def test_accumulator_cleared_is_empty():
    accumulator = accumulated([Update(1, torch.tensor(float("nan")), torch.eye(3), torch.arange(3))], 2)
    accumulator.clear()
    assert (accumulator.steps, accumulator.num_correct.item(), accumulator.first_nonfinite()) == (0, 0, None)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_accumulator_names_the_first_loss_that_is_not_finite(bad):
    losses = (1.0, 2.0, bad, float("nan"))
    updates = [Update(1, torch.tensor(loss), torch.eye(3), torch.arange(3)) for loss in losses]
    assert accumulated(updates, 5).first_nonfinite() == 2


def test_evaluate_equals_a_direct_computation(problem):
    model, (x, y) = problem
    run(problem, stop=3)
    measured = evaluate(components_of(model), [(x[:50], y[:50]), (x[50:], y[50:])])
    model.eval()
    outputs = model(x)
    assert measured["loss"] == pytest.approx(F.cross_entropy(outputs, y).item(), rel=1e-5)
    assert measured["accuracy"] == pytest.approx((outputs.argmax(1) == y).float().mean().item())


def test_evaluate_changes_nothing_and_leaves_training_mode(problem):
    model, batch = problem
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    evaluate(components_of(model), [batch])
    assert model.training
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


class Remembered(nn.Module):
    """Scales its input by a table that it makes when it first meets a width, as rotary positions and masks are made."""

    table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.ones(x.shape[1])
        return x * self.table


def test_evaluate_leaves_a_table_that_a_network_makes_and_keeps_fit_for_training(problem):
    model, (x, y) = problem
    model = nn.Sequential(model[0], Remembered(), *model[1:])
    evaluate(components_of(model), [(x, y)])
    assert len(run((model, (x, y)), stop=2)) == 2


def test_regression_is_in_the_units_of_the_target():
    task = Regression(scale=3.0)
    outputs, y = torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [4.0]])
    loss = task.loss(outputs, y).item()
    assert loss == 2.5
    assert task.loss(outputs, y, reduction="sum").item() == 5.0
    assert task.metrics(loss, 0.0) == {"loss": 2.5, "rmse": pytest.approx(3 * 2.5**0.5)}


def test_regression_compares_equal_shapes_only():
    outputs, y = torch.randn(4, 2), torch.randn(4, 2)
    assert Regression().loss(outputs, y).item() == pytest.approx(F.mse_loss(outputs, y).item())
