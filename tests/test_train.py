"""The training loop on plain tensors."""

from __future__ import annotations

import copy
import math
from contextlib import nullcontext
from itertools import repeat

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normexp.training.loop import Task, Window, evaluate, make_step, train

CPU = torch.device("cpu")
ACCURACY, RMSE = Task("accuracy"), Task("rmse", scale=3.0)


@pytest.fixture
def problem():
    """A network, its optimizer and one batch that it can learn."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
    x = torch.randn(60, 4)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), (x, x[:, :3].argmax(1))


def run(problem, start=0, stop=20, watch=lambda done: False, window=None, rate=lambda step: 0.5, penalty=lambda: None):
    model, optimizer, batch = problem
    step = make_step(model, ACCURACY, optimizer, nullcontext, penalty)
    window = window or Window.of(stop - start, CPU)
    done = train(step, ACCURACY, repeat(batch), window, optimizer, lambda step: {"lr": rate(step)}, start, stop, watch)
    return done, window


def test_train_makes_the_loss_go_down(problem):
    done, window = run(problem)
    assert done == 20
    assert window.losses[-1] < 0.5 * window.losses[0]


def test_train_stops_when_the_watch_says_so(problem):
    seen = []
    done, window = run(problem, start=5, watch=lambda done: seen.append(done) or done == 8)
    assert (done, window.steps, seen) == (8, 3, [6, 7, 8])


def test_train_takes_no_batch_that_it_does_not_use(problem):
    model, optimizer, batch = problem
    batches = iter([batch] * 5)
    step = make_step(model, ACCURACY, optimizer, nullcontext, lambda: None)
    train(step, ACCURACY, batches, Window.of(3, CPU), optimizer, lambda step: {"lr": 0.1}, 0, 3, lambda done: False)
    assert len(list(batches)) == 2


def test_train_uses_the_rate_of_each_step(problem):
    used = []
    optimizer = problem[1]
    run(problem, 3, 6, rate=lambda step: step / 10, watch=lambda done: used.append(optimizer.param_groups[0]["lr"]))
    assert used == [0.3, 0.4, 0.5]


def test_train_the_penalty_acts_but_is_no_part_of_the_loss(problem):
    model = problem[0]
    first = model[0].weight
    with torch.no_grad():
        plain = F.cross_entropy(model.eval()(problem[2][0]), problem[2][1])
    model.train()
    model[3].p = 0.0
    model[1].momentum = None
    _, window = run(problem, stop=1, rate=lambda step: 0.1, penalty=lambda: 1000 * first.square().sum())
    assert abs(window.last_loss() - plain) < 1
    assert first.abs().max() > 10  # pulled far beyond zero


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
    step = make_step(model, ACCURACY, optimizer, nullcontext, lambda: penalty_of(model), clip_norm=0.5)
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
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1, fused=True)
        step = make_step(each, ACCURACY, optimizer, nullcontext, lambda: None, clip_norm=clip_norm)
        for _ in range(3):
            step(x, y)
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("factor", [1e25, float("inf"), float("nan")], ids=["squares overflow", "inf", "nan"])
def test_clip_of_a_norm_that_is_not_finite_is_told_by_the_next_loss(factor):
    torch.manual_seed(0)
    model, x = nn.Linear(4, 3), torch.randn(20, 4)
    y = x[:, :3].argmax(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    step = make_step(model, ACCURACY, optimizer, nullcontext, lambda: factor * model.bias.sum(), clip_norm=1.0)
    window = Window.of(2, CPU)
    train(step, ACCURACY, repeat((x, y)), window, optimizer, lambda step: {"lr": 0.1}, 0, 2, lambda done: False)
    assert window.first_nonfinite() == 1


def test_window_measures_the_mean_over_its_steps(problem):
    _, window = run(problem, stop=4)
    measured = window.measures(ACCURACY, batch_size=60)
    assert measured["loss"] == pytest.approx(window.losses.double().mean().item())
    assert measured["accuracy"] == pytest.approx(window.hits.item() / 240)
    assert 0 < measured["accuracy"] < 1


def test_window_restored_goes_on_where_it_was(problem):
    _, window = run(problem, stop=4)
    other = Window.of(6, CPU)
    other.restore(window.losses[:4].clone(), window.hits.clone())
    assert other.measures(ACCURACY, 60) == window.measures(ACCURACY, 60)
    other.record(torch.tensor(7.0), torch.tensor(1))
    assert (other.steps, other.last_loss()) == (5, 7.0)


def test_window_cleared_is_empty():
    window = Window.of(2, CPU)
    window.record(torch.tensor(float("nan")), torch.tensor(3))
    window.clear()
    assert (window.steps, window.hits.item(), window.first_nonfinite()) == (0, 0, None)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_window_names_the_first_loss_that_is_not_finite(bad):
    window = Window.of(5, CPU)
    for loss in (1.0, 2.0, bad, float("nan")):
        window.record(torch.tensor(loss), torch.tensor(0))
    assert window.first_nonfinite() == 2


def test_evaluate_equals_a_direct_computation(problem):
    model, _, (x, y) = problem
    run(problem, stop=3)
    measured = evaluate(model, ACCURACY, [(x[:50], y[:50]), (x[50:], y[50:])], nullcontext)
    model.eval()
    outputs = model(x)
    assert measured["loss"] == pytest.approx(F.cross_entropy(outputs, y).item(), rel=1e-5)
    assert measured["accuracy"] == pytest.approx((outputs.argmax(1) == y).float().mean().item())


def test_evaluate_changes_nothing_and_leaves_training_mode(problem):
    model, _, batch = problem
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    evaluate(model, ACCURACY, [batch], nullcontext)
    assert model.training
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_task_rmse_is_in_the_units_of_the_target():
    outputs, y = torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [4.0]])
    loss = RMSE.loss(outputs, y).item()
    assert loss == 2.5
    assert RMSE.loss(outputs, y, reduction="sum").item() == 5.0
    assert RMSE.measures(loss, 0.0) == {"loss": 2.5, "rmse": pytest.approx(3 * 2.5**0.5)}


def test_task_squared_error_of_equal_shapes_only_is_not_broadcast():
    outputs, y = torch.randn(4, 2), torch.randn(4, 2)
    assert RMSE.loss(outputs, y).item() == pytest.approx(F.mse_loss(outputs, y).item())
