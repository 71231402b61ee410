"""The recurrent classifier: padding, statistics of time steps, initial weights, and runs by the command line."""

import copy
import json
from pathlib import Path

import pytest
import torch
from drawn_weights import drawn_weight, drawn_weights
from one_line import assert_refused
from outcomes import outcome
from recurrent_cases import SCHEMES, each_case
from torch import Tensor, nn

from normexp.config import compose
from normexp.models.lstm_classifier import CELLS, LSTMClassifier
from normexp.models.recurrent.unroll import last_state, pack
from normexp.norms.base import Norm
from normexp.norms.normprop import NormProp
from normexp.norms.recurrent_batch import RecurrentBatchNorm
from normexp.training.build import build_model, build_norm, named_norm

BASE = ["model=lstm_classifier", "dataset=adding", "inputs=none"]
LENGTHS = [5, 2, 4, 5, 1, 3]
FEATURES, STEPS = 3, 5


def classifier(cell: str, scheme: str, steps: int = STEPS) -> LSTMClassifier:
    torch.manual_seed(0)
    norm = named_norm(scheme)
    return LSTMClassifier((steps, FEATURES + 1), 4, norm, cell=cell, hidden=6, masked=True, learned_state=True)


def padded(more: int = 0, padding: float = 0.0) -> Tensor:
    """Return sequences of LENGTHS with `more` steps of padding than needed, their mask as the last feature."""
    values = torch.randn(len(LENGTHS), STEPS, FEATURES, generator=torch.Generator().manual_seed(1))
    values = nn.functional.pad(values, (0, 0, 0, more))
    mask = (torch.arange(STEPS + more) < torch.tensor(LENGTHS)[:, None]).float()[..., None]
    return torch.cat([torch.where(mask > 0, values, padding), mask], dim=2)


@each_case
def test_result_does_not_depend_on_the_padding(cell, scheme):
    model = classifier(cell, scheme)
    for one, other in zip(outcome(model, padded()), outcome(model, padded(more=3, padding=7.0)), strict=True):
        assert torch.equal(one, other)


@each_case
def test_result_in_evaluation_does_not_depend_on_the_other_sequences(cell, scheme):
    model, x = classifier(cell, scheme), padded()
    model(x)
    model.eval()
    together = model(x)
    for n, length in enumerate(LENGTHS):
        torch.testing.assert_close(model(x[n : n + 1, :length])[0], together[n])


def test_sequences_without_any_step_are_read_as_one_of_padding():
    model, x = classifier("lstm", "layer"), padded()
    x[1] = 0.0
    expected = x.clone()
    expected[1, 0, -1] = 1.0
    assert torch.equal(model(x), model(expected))


def test_running_statistics_are_those_of_the_sequences_that_go_on():
    model, x = classifier("rnn", "recurrent_batch"), padded()
    model.cell.norm_sum.momentum = 1.0
    model(x)
    with torch.no_grad():
        first = x[..., :-1][:, 0] @ model.cell.input.weight.T + model.cell.start(6, x)[0] @ model.cell.state.weight.T
        h = model.cell.norm_sum(first, 0).tanh()
        there = torch.tensor(LENGTHS) > 1
        second = x[..., :-1][there, 1] @ model.cell.input.weight.T + h[there] @ model.cell.state.weight.T
    torch.testing.assert_close(model.cell.norm_sum.running.mean[:2], torch.stack([first.mean(0), second.mean(0)]))
    torch.testing.assert_close(model.cell.norm_sum.running.var[:2], torch.stack([first.var(0), second.var(0)]))


def test_a_lone_survivor_is_normalized_by_the_estimates():
    cell = CELLS["lstm"](FEATURES, 6, RecurrentBatchNorm(), STEPS)
    x = torch.randn(3, STEPS, FEATURES, requires_grad=True)
    last_state(cell, pack(x, torch.tensor([5, 2, 2]))).sum().backward()
    for part in (cell.norm_input, cell.norm_state, cell.norm_memory):
        assert int(part.running.longest) == 2  # steps 2, 3 and 4 have one sequence, which has no variance
        assert bool(part.running.mean[:2].any(1).all()) or part is cell.norm_state  # W_h h is 0 at step 0
        assert not part.running.mean[2:].any()
    assert x.grad.isfinite().all()
    assert bool(x.grad[0].any(1).all())


def test_all_steps_at_once_are_all_steps():
    x, sizes = torch.randn(9, 8), [4, 3, 2]
    for scheme in SCHEMES:
        part = named_norm(scheme).recurrent(8, 3, "memory")
        expected = torch.cat([part(x_t, t) for t, x_t in enumerate(x.split(sizes))])
        torch.testing.assert_close(part.all_steps(x, sizes), expected)


def test_statistics_over_the_batch_never_mix_time_steps():
    part = named_norm("batch").recurrent(3, 2)
    x = torch.randn(8, 3) + torch.tensor([0.0] * 4 + [9.0] * 4)[:, None]
    torch.testing.assert_close(part.all_steps(x, [4, 4]).view(2, 4, 3).mean(1), torch.zeros(2, 3))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("more", [[], ["model.recurrent_init=identity"], ["init=glorot"]], ids=str)
@pytest.mark.parametrize("cell", CELLS)
def test_initial_weights_are_those_of_every_other_norm(cell, scheme, more):
    def weights(name: str) -> list[Tensor]:
        config = compose([*BASE, f"model.cell={cell}", f"norm={name}", *more])
        model = build_model(config, build_norm(config), (7, 2), 3)
        return drawn_weights(model)

    for one, other in zip(weights(scheme), weights("none"), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


def test_initial_weights_around_the_identity():
    cell = CELLS["lstm"](1, 8, Norm(), 5, recurrent_init="identity")
    i, f, candidate, o = cell.state.weight.detach().split(8)
    assert torch.equal(candidate, torch.eye(8))
    others = torch.cat([i, f, o])
    torch.testing.assert_close(others.T @ others, torch.eye(8), rtol=0, atol=1e-5)
    torch.testing.assert_close(cell.input.weight.norm(), torch.tensor(1.0))
    assert torch.equal(CELLS["rnn"](1, 8, Norm(), 5, recurrent_init="identity").state.weight.detach(), torch.eye(8))


@pytest.mark.parametrize("kind", CELLS)
def test_initial_weights_orthogonal_and_uniform(kind):
    weight = CELLS[kind](2, 8, Norm(), 5, recurrent_init="orthogonal").state.weight.detach()
    torch.testing.assert_close(weight.T @ weight, torch.eye(8), rtol=0, atol=1e-5)
    cell = CELLS[kind](2, 200, Norm(), 5)
    for weight in (cell.input.weight, cell.state.weight):
        assert 0.99 * 200**-0.5 < weight.abs().max() <= 200**-0.5


def test_the_cell_draws_its_weights():
    assert torch.equal(weight_of_state("model.recurrent_init=identity")[200:300], torch.eye(100))


def test_an_option_of_init_draws_the_weights_of_the_cell_as_well():
    weight = weight_of_state("init=gaussian", "init.std=2")
    assert weight.std().item() == pytest.approx(2.0, rel=0.02)


def weight_of_state(*words: str) -> Tensor:
    config = compose([*BASE, *words])
    return build_model(config, build_norm(config), (7, 2), 3).cell.state.weight.detach()


def test_forget_gates_start_open():
    biases = CELLS["lstm"](2, 3, Norm(), 5).bias.tolist()
    assert biases == [0.0] * 3 + [1.0] * 3 + [0.0] * 6


@pytest.mark.parametrize("kind", CELLS)
def test_initial_state_is_learned_if_asked_for(kind):
    x = torch.randn(4, 3, 2)
    assert "initial" not in dict(CELLS[kind](2, 3, Norm(), 5).named_parameters())
    cell = CELLS[kind](2, 3, Norm(), 5, learned_state=True)
    last_state(cell, pack(x)).sum().backward()
    assert not cell.initial.any()
    assert cell.initial.grad.all()


def test_noise_on_the_initial_state_is_of_training_alone():
    cell, x = CELLS["lstm"](2, 300, Norm(), 5, initial_noise=0.1), torch.zeros(50, 2)
    h, c = cell.start(50, x)
    assert h.std().item() == pytest.approx(0.1, rel=0.03)
    assert not c.any()
    h, c = cell.eval().start(50, x)
    assert not h.any()


def test_normprop_keeps_weights_at_unit_length():
    norm = NormProp()
    model = LSTMClassifier((5, 3), 2, norm, hidden=4)
    norm.initialize(model, torch.randn(6, 5, 3))
    lengths = [drawn_weight(layer).norm(dim=1) for layer in (model.cell.input, model.cell.state)]
    torch.testing.assert_close(torch.cat(lengths), torch.ones(32))
    torch.testing.assert_close(model.cell.state.weight.norm(dim=1), torch.full((16,), 2.0))


def test_data_dependent_initialization_leaves_the_recurrence_alone():
    config = compose([*BASE, "norm=weight"])
    norm = build_norm(config)
    model = build_model(config, norm, (7, 2), 3)
    before = copy.deepcopy(model.state_dict())
    norm.initialize(model, torch.randn(20, 7, 2))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


IMPOSSIBLE = {
    "another scheme": (["norm=batch"], "norm=batch has no form", "recurrent_batch"),
    "a scheme for maps": (["norm=instance"], "norm=instance has no form", "layer"),
    "two initializations": (["init=he", "model.recurrent_init=identity"], "init=he", "leave one out"),
    "images": (["dataset=digits"], "model=lstm_classifier needs sequences", "use model="),
    "cell": (["model.cell=lstn"], "model.cell=lstn", "did you mean lstm?"),
    "no units": (["model.hidden=0"], "model.hidden=0", "[1, inf)"),
    "mask for no mask": (["model.masked=true"], "model.masked=true", "leave it out"),
}


@pytest.mark.parametrize(("overrides", "named", "way_out"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_recurrent_refuses_in_one_line(overrides, named, way_out):
    assert_refused([*BASE, *overrides], named, way_out)


@pytest.mark.parametrize(
    "key", ["recurrent_batch norm.gain=1", "recurrent_batch norm.bias=false", "normprop norm.recurrent_gain=1"]
)
def test_what_a_scheme_has_in_recurrent_networks_alone_is_refused_elsewhere(key):
    name, given = key.split()
    compose([*BASE, f"norm={name}", given])
    assert_refused(["model=cnn", f"norm={name}", given], f"{given}", "leave it out")


@pytest.mark.parametrize("key", ["weight norm.data_init=false", "normprop norm.beta=1", "normprop norm.jacobian=none"])
def test_what_a_scheme_has_outside_recurrent_cells_is_refused_within(key):
    name, given = key.split()
    assert_refused([*BASE, f"norm={name}", given], given.replace("=1", "=1.0"), "leave it out")
    compose([*BASE, f"norm={name}", given, "model.normalize_output=true"])
    compose(["dataset=digits", "model=cnn", f"norm={name}", given])


def test_a_stack_has_both_parts_in_a_cell_and_refuses_one_that_has_no_form_there():
    stack = [*BASE, "norm=stack", "norm.weights=weight"]
    config = compose([*stack, "norm.activations=layer"])
    network = build_model(config, build_norm(config), (7, 2), 3)
    assert {"_WeightNorm", "SampleNorm"} <= {type(each).__name__ for each in network.modules()}
    assert_refused([*stack, "norm.activations=batch"], "norm.activations=batch", "norm.activations=none, layer")


def test_a_forget_bias_is_refused_where_the_cell_has_no_forget_gate():
    assert_refused([*BASE, "model.cell=gru", "model.forget_bias=0"], "model.forget_bias=0.0", "model.cell=gru")
    compose([*BASE, "model.cell=lstm", "model.forget_bias=0"])


def test_a_mask_alone_is_no_input():
    with pytest.raises(ValueError, match=r"model\.masked=true takes the last feature"):
        LSTMClassifier((5, 1), 2, Norm(), masked=True)


TINY = [*BASE, "dataset.length=12", "dataset.min_length=4", "dataset.examples=60", "dataset.test=20", "batch_size=20"]
TINY += ["dataset.validation=20", "model.masked=true", "model.hidden=6", "steps=3", "threads=1", "device=cpu"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_trains_by_the_command_line(cli, results: Path, scheme):
    status, _, stderr = cli("run", *TINY, f"norm={scheme}", f"results_dir={results}", "--quiet")
    assert status == 0, stderr
    (found,) = (results / "runs").iterdir()
    assert json.loads((found / "status.json").read_text())["status"] == "done"
