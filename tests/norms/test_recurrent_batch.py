"""Recurrent batch normalization: one set of running estimates per time step, one weight and bias for all."""

import pytest
import torch

from normexp.norms.batch import BatchNorm
from normexp.norms.recurrent_batch import RecurrentBatchNorm

STEPS = 3


def test_each_step_is_batch_normalization_with_estimates_of_its_own():
    module = RecurrentBatchNorm().recurrent(4, STEPS)
    others = [BatchNorm().normalization(4) for _ in range(STEPS)]
    for _ in range(5):
        for t, other in enumerate(others):
            x = torch.randn(6, 4) * (t + 1) + t
            torch.testing.assert_close(module(x, t), 0.1 * other(x))
    module.eval()
    x = torch.randn(6, 4)
    for t, other in enumerate(others):
        torch.testing.assert_close(module(x, t), 0.1 * other.eval()(x))
    assert not torch.allclose(module(x, 0), module(x, 1))


def test_beyond_the_longest_sequence_of_training_its_last_step_serves():
    part = RecurrentBatchNorm().recurrent(4, 10)
    for t in range(3):
        part(torch.randn(8, 4) + t, t)
    part.eval()
    x = torch.randn(5, 4)
    assert torch.equal(part(x, 7), part(x, 2))
    assert not torch.equal(part(x, 2), part(x, 1))
    part.train()(torch.randn(8, 4) + 5, 7)
    assert not torch.equal(part.eval()(x, 7), part(x, 2))


def test_training_beyond_the_last_step_moves_the_estimates_of_the_last():
    module = RecurrentBatchNorm().recurrent(4, STEPS)
    before = module.running.mean.clone()
    module(torch.randn(6, 4) + 5, STEPS)
    assert torch.equal(module.running.mean[:-1], before[:-1])
    assert (module.running.mean[-1] > before[-1]).all()


def test_weight_and_bias_are_shared_and_start_at_the_papers_values():
    module = RecurrentBatchNorm().recurrent(4, STEPS)
    assert {name: tuple(p.shape) for name, p in module.named_parameters()} == {"weight": (4,), "bias": (4,)}
    assert module.weight.tolist() == pytest.approx([0.1] * 4)
    assert module.bias.tolist() == [0.0] * 4
    assert [name for name, _ in RecurrentBatchNorm(bias=False).recurrent(4, 2).named_parameters()] == ["weight"]
    assert [name for name, _ in RecurrentBatchNorm().recurrent(4, 2, "term").named_parameters()] == ["weight"]
    assert RecurrentBatchNorm().recurrent(4, 2, "lstm").does_nothing


def test_gradient_flows_through_all_steps():
    module = RecurrentBatchNorm().recurrent(4, STEPS).double()
    x = torch.randn(6, 4, dtype=torch.double, requires_grad=True)

    def run(x):
        for t in range(STEPS):
            x = torch.tanh(module(x, t))
        return x

    assert torch.autograd.gradcheck(run, [x])


def test_state_dict_round_trip():
    module, copy = (RecurrentBatchNorm().recurrent(4, STEPS) for _ in range(2))
    module(torch.randn(6, 4) + 3, 1)
    copy.load_state_dict(module.state_dict())
    x = torch.randn(6, 4)
    assert torch.equal(module.eval()(x, 1), copy.eval()(x, 1))


def test_elsewhere_it_is_batch_normalization():
    x = torch.randn(6, 4, 3)
    assert torch.equal(RecurrentBatchNorm().normalization(4)(x), BatchNorm().normalization(4)(x))


def test_impossible_values_are_refused():
    with pytest.raises(ValueError, match="more than one value"):
        RecurrentBatchNorm().recurrent(4, STEPS)(torch.randn(1, 4), 0)
    with pytest.raises(ValueError, match="max_steps must be at least 1, not 0"):
        RecurrentBatchNorm().recurrent(4, 0)
    with pytest.raises(ValueError, match="gain must be above 0, not 0"):
        RecurrentBatchNorm(gain=0.0)


def test_statistics_of_the_batch_in_evaluation():
    norm = RecurrentBatchNorm(estimates="batch")
    step, layer = norm.recurrent(4, STEPS), norm.normalization(4)
    x = torch.randn(6, 4) * 3 + 2
    expected, ordinary = step(x, 1), layer(x)
    before = {**step.state_dict(), **layer.state_dict()}
    before = {name: value.clone() for name, value in before.items()}
    step.eval(), layer.eval()
    torch.testing.assert_close(step(x, 1), expected)
    torch.testing.assert_close(layer(x), ordinary)
    torch.testing.assert_close(step(x[:3], 1), 0.1 * BatchNorm(affine=False).normalization(4)(x[:3]))
    assert not torch.allclose(step(x[:3], 1), expected[:3])  # so an answer depends on the other examples
    assert all(torch.equal(before[name], value) for name, value in {**step.state_dict(), **layer.state_dict()}.items())


def test_a_single_example_is_evaluated_with_running_averages():
    by_batch, running = (RecurrentBatchNorm(estimates=name) for name in ("batch", "running"))
    x = torch.randn(6, 4)
    for pair in [
        [n.normalization(4) for n in (by_batch, running)],
        [n.recurrent(4, STEPS) for n in (by_batch, running)],
    ]:
        arguments = (0,) if hasattr(pair[0], "max_steps") else ()
        outputs = []
        for module in pair:
            module(x, *arguments)
            outputs.append(module.eval()(x[:1], *arguments))
        assert torch.equal(*outputs)
        assert torch.isfinite(outputs[0]).all()


class Chain(torch.nn.Module):
    """h <- tanh(BN(W h) + x_t) over sequences x: (N, T, 4); the first steps of all are the same."""

    def __init__(self, norm: RecurrentBatchNorm, steps: int) -> None:
        super().__init__()
        self.state, self.step = torch.nn.Linear(4, 4, bias=False), norm.recurrent(4, steps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.full((len(x), 4), 0.7)
        for t in range(x.shape[1]):
            h = torch.tanh(self.step(self.state(h), t) + x[:, t])
        return h


@pytest.mark.parametrize("constant", [0, 6])
def test_beginnings_that_all_sequences_share_do_not_drown_what_follows(constant):
    torch.manual_seed(1)
    norm = RecurrentBatchNorm(gain=1.0)
    model = Chain(norm, 10)
    x = torch.randn(1000, 10, 4)
    x[:, :constant] = torch.randn(1, constant, 4)
    norm.before_evaluation(model, lambda count: x[:count])
    expected = model(x)
    got = model.eval()(x[:77])
    assert (got - expected[:77]).abs().mean() < 0.05  # what is left: 77 examples against 1,000 in the statistics
    assert model.step.population.varies.mean(1).tolist() == [float(t >= max(constant + 1, 1)) for t in range(10)]


def test_features_that_vary_little_are_kept():
    step = RecurrentBatchNorm(estimates="running").recurrent(4, 1)
    x = torch.randn(50, 4) * 1e-3 + 1
    step.population.take(x, 0)
    assert step.population.varies.all()


def test_training_does_not_see_the_population():
    """A lone sequence is normalized by running averages, so that evaluating more often changes no training."""
    often, never = (RecurrentBatchNorm().recurrent(4, STEPS) for _ in range(2))
    for _ in range(3):
        x = torch.randn(6, 4)
        assert torch.equal(often(x, 0), never(x, 0))
        assert torch.equal(often(x[:1], 1), never(x[:1], 1))
        often.momentum = None
        often(torch.randn(9, 4) + 2, 0), often(torch.randn(9, 4) - 5, 1)
        often.momentum = never.momentum
    assert not torch.equal(often.eval()(x, 1), never.eval()(x, 1))
