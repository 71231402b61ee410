"""Gradients by time step: an RNN differentiated by hand, batch normalization by an independent forward pass."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from normexp.config import compose
from normexp.errors import UserError
from normexp.seeding import seeded
from normexp.studies.base import StudyContext
from normexp.studies.recurrent_gradient import RecurrentGradient, row

BASE = ["dataset=copy", "dataset.items=3", "dataset.delay=8", "dataset.examples=120", "dataset.validation=20"]
BASE += ["dataset.test=20", "inputs=none", "model=lstm_classifier", "model.hidden=7", "batch_size=20", "threads=1"]
STEPS = 3 + 8 + 1


def setup(*overrides: str) -> StudyContext:
    return StudyContext(compose([*BASE, *overrides]))


def column(study: RecurrentGradient, name: str, *overrides: str) -> list[float]:
    return [row[name] for row in study.measure(setup(*overrides)).rows]


def same_start(*overrides: str) -> tuple[torch.nn.Module, Tensor, Tensor]:
    """Return the network in float64 and the batch that a study of these options sees."""
    made = setup(*overrides)
    x, y = made.components.batches.first(20)
    return made.components.model.double(), x.double(), y


def test_gradients_of_an_rnn_are_those_by_hand():
    model, x, y = same_start("model.cell=rnn")
    w_x, w_h, b = (p.detach().numpy() for p in (model.cell.input.weight, model.cell.state.weight, model.cell.bias))
    states = [np.zeros((20, 7))]
    for t in range(STEPS):
        states.append(np.tanh(x[:, t].numpy() @ w_x.T + states[-1] @ w_h.T + b))
    w, bias = (p.detach().numpy() for p in (model.output.weight, model.output.bias))
    scores = np.exp(states[-1] @ w.T + bias)
    gradient = (scores / scores.sum(1, keepdims=True) - np.eye(8)[y.numpy()]) @ w / 20
    expected = []
    for state in reversed(states[1:]):
        expected.insert(0, np.linalg.norm(gradient))
        gradient = (gradient * (1 - state**2)) @ w_h
    found = RecurrentGradient().measure(setup("model.cell=rnn")).rows
    assert [row["step"] for row in found] == list(range(1, STEPS + 1))
    assert [row["gradient_norm"] for row in found] == pytest.approx(expected, rel=1e-6)
    lost = [math.log10(expected[-1] / each) for each in expected]
    assert [row["decades_lost"] for row in found] == pytest.approx(lost, abs=1e-6)
    assert [row["derivative"] for row in found] == pytest.approx([(1 - h**2).mean() for h in states[1:]], rel=1e-12)


@pytest.mark.parametrize("t", [1, 5, STEPS])
def test_gradient_goes_through_the_batch_statistics(t):
    """From step t on forward again, from a state that is a leaf; normalization written out."""
    chosen = ["model.cell=rnn", "norm=recurrent_batch", "norm.gain=0.4"]
    model, x, y = same_start(*chosen)
    h = torch.zeros(20, 7, dtype=torch.float64)
    for step in range(STEPS):
        total = x[:, step] @ model.cell.input.weight.T + h @ model.cell.state.weight.T
        centred = total - total.mean(0)
        h = (0.4 * centred / (centred.square().mean(0) + 1e-5).sqrt()).tanh()
        if step + 1 == t:
            h = leaf = h.detach().requires_grad_()
    torch.nn.functional.cross_entropy(model.output(h), y).backward()
    found = RecurrentGradient().measure(setup(*chosen)).rows[t - 1]
    assert found["gradient_norm"] == pytest.approx(float(leaf.grad.norm()), rel=1e-6)
    assert found["log_gradient_norm"] == pytest.approx(math.log10(float(leaf.grad.norm())), abs=1e-6)


def test_gradient_of_an_lstm_without_scheme_is_the_one_without_the_kernel():
    model, x, y = same_start()
    states, state = [], (torch.zeros(20, 7, dtype=torch.float64),) * 2
    weights = (model.cell.input.weight, model.cell.state.weight, model.cell.bias, torch.zeros_like(model.cell.bias))
    for step in range(STEPS):
        state = torch.lstm_cell(x[:, step], state, *weights)
        states.append(state[0])
    loss = torch.nn.functional.cross_entropy(model.output(state[0]), y)
    expected = [float(each.norm()) for each in torch.autograd.grad(loss, states)]
    assert column(RecurrentGradient(), "gradient_norm") == pytest.approx(expected, rel=1e-6)


def test_at_the_first_step_the_derivative_is_that_of_normal_inputs():
    """E[tanh'(gamma z)], z normal, by quadrature: noise alone enters the first step of black pixels."""
    digits = ["dataset=sequential_digits", "inputs=none", "model=lstm_classifier", "model.hidden=100", "threads=1"]
    digits += ["model.cell=rnn", "model.recurrent_init=identity", "model.initial_noise=0.1", "batch_size=200"]
    for gamma in (0.1, 0.5, 1.0):
        chosen = compose([*digits, "norm=recurrent_batch", f"norm.gain={gamma}", "dataset.side=2"])
        first = RecurrentGradient().measure(StudyContext(chosen)).rows[0]
        z, weight = np.polynomial.hermite_e.hermegauss(80)
        expected = ((1 - np.tanh(gamma * z) ** 2) * weight).sum() / weight.sum()
        assert first["derivative"] == pytest.approx(expected, abs=0.02)


def test_rows_are_counted_back_from_the_last_step():
    assert column(RecurrentGradient(every=5), "step") == [2, 7, 12]


def test_noise_on_the_initial_state_follows_the_seed():
    noisy = "model.initial_noise=0.5"
    first, again, other = (column(RecurrentGradient(), "gradient_norm", noisy, f"seed={seed}") for seed in (0, 0, 1))
    assert first == again != other
    with seeded(5, "something else"):
        assert column(RecurrentGradient(), "gradient_norm", noisy) == first


def test_a_gradient_of_zero_has_no_logarithm_and_one_that_is_no_number_has_not_vanished():
    state = torch.zeros(2, 2)
    assert row(1, state, state, 0.0)["log_gradient_norm"] == -math.inf
    assert math.isnan(row(1, state, state / 0, 0.0)["log_gradient_norm"])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["dataset=digits", "model=mlp"], "model=mlp has no time steps; use model=lstm_classifier"),
        ([*BASE, "dataset.mask=true", "model.masked=true"], "sequences must be equally long"),
    ],
)
def test_what_has_no_common_time_steps_is_refused(overrides, message):
    with pytest.raises(UserError, match=message):
        RecurrentGradient().measure(StudyContext(compose(overrides)))
