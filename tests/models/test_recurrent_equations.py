"""Every cell under every scheme against its equations in NumPy: output, gradients, evaluation; and against torch.nn."""

import numpy as np
import pytest
import torch
from recurrent_cases import EXACT, SCHEMES, each_case
from recurrent_equations import Reference, settled_std
from torch import nn

from normexp.models.lstm_classifier import CELLS
from normexp.models.recurrent.cell import Cell
from normexp.models.recurrent.unroll import all_states, last_state, pack, starting, unroll
from normexp.norms.base import Norm
from normexp.norms.layer import LayerNorm
from normexp.norms.normprop import recurrent_std
from normexp.training.build import named_norm

INPUTS, UNITS, STEPS = 2, 3, 4
LENGTHS = [4, 2, 4, 3, 1, 3]


def make_cell(cell: str, norm: Norm, **options_of_cell) -> Cell:
    """Return a cell in double with values at which no term of an equation vanishes."""
    torch.manual_seed(0)
    made = CELLS[cell](INPUTS, UNITS, norm, STEPS, learned_state=True, **options_of_cell).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return made


def values_of(cell: nn.Module) -> dict[str, np.ndarray]:
    return {name: parameter.detach().numpy().copy() for name, parameter in cell.named_parameters()}


def sequences() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(0.3, 1.5, (len(LENGTHS), STEPS, INPUTS)))


def by_complex_step(function, point: np.ndarray) -> np.ndarray:
    result = np.empty(point.shape)
    for index in np.ndindex(point.shape):
        moved = point.astype(complex)
        moved[index] += 1e-30j
        result[index] = function(moved).imag / 1e-30
    return result


def test_nine_schemes_are_recurrent():
    assert SCHEMES == ["none", "layer", "normprop", "recurrent_batch", "rms", "scale_norm", "ssnorm", "stack", "weight"]


@each_case
def test_output_and_gradients_are_those_of_the_equations(cell, scheme):
    made, x, lengths = make_cell(cell, named_norm(scheme)), sequences().requires_grad_(), np.array(LENGTHS)
    values, cotangent = values_of(made), np.random.default_rng(2).normal(size=(len(LENGTHS), UNITS))
    h = last_state(made, pack(x, torch.tensor(LENGTHS)))
    np.testing.assert_allclose(h.detach(), Reference(cell, scheme, values).last(x.detach().numpy(), lengths), **EXACT)
    h.backward(torch.from_numpy(cotangent))
    found = {name: parameter.grad for name, parameter in made.named_parameters()}

    def loss(name: str, moved: np.ndarray) -> complex:
        reference = Reference(cell, scheme, values | ({} if name == "x" else {name: moved}))
        return (reference.last(moved if name == "x" else x.detach().numpy(), lengths) * cotangent).sum()

    for name, value in (values | {"x": x.detach().numpy()}).items():
        expected = by_complex_step(lambda moved, name=name: loss(name, moved), value)
        grad = x.grad if name == "x" else found[name]
        np.testing.assert_allclose(grad, expected, **EXACT, err_msg=name)


TORCH = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


def torchs(cell: Cell, kind: str) -> nn.Module:
    """Return torch's network with the weights of a cell."""
    theirs = TORCH[kind](INPUTS, UNITS).double()
    second = torch.zeros_like(cell.bias)
    if kind == "gru":
        second[2 * UNITS :] = cell.candidate_bias
    with torch.no_grad():
        for name, value in zip(
            ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"),
            (cell.input.weight, cell.state.weight, cell.bias, second),
            strict=True,
        ):
            getattr(theirs, name).copy_(value)
    return theirs


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["equal lengths", "any lengths"])
@pytest.mark.parametrize("kind", CELLS)
def test_without_a_scheme_the_cell_is_torchs(kind, lengths, monkeypatch):
    monkeypatch.setattr(Cell, "kernel_on_cpu", True)  # as on a GPU
    cell, x = make_cell(kind, Norm()), sequences()
    theirs, packed = torchs(cell, kind), pack(x, None if lengths is None else torch.tensor(lengths))
    start = tuple(part[None] for part in cell.start(len(x), x))
    h, last = theirs(packed, start if kind == "lstm" else start[0])
    last = last[0] if kind == "lstm" else last
    torch.testing.assert_close(torch.cat(unroll(cell, packed, starting(cell, packed))), h.data)
    torch.testing.assert_close(last_state(cell, packed), last[0])
    parameters = list(cell.parameters())
    ours = torch.autograd.grad(torch.cat(unroll(cell, packed, starting(cell, packed))).square().sum(), parameters)
    fast, _ = cell.by_kernel(packed, cell.start(len(x), x))
    for one, other in zip(ours, torch.autograd.grad(fast.square().sum(), parameters), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("scheme", "fast"), [("none", True), ("weight", True), ("layer", False), ("normprop", False)])
def test_kernel_serves_where_no_scheme_acts_on_activations(kind, scheme, fast, monkeypatch):
    cell, x = make_cell(kind, named_norm(scheme)), sequences()
    assert (cell.by_kernel(pack(x), cell.start(len(x), x)) is not None) == (fast and kind == "lstm")
    monkeypatch.setattr(Cell, "kernel_on_cpu", True)  # as on a GPU
    assert (cell.by_kernel(pack(x), cell.start(len(x), x)) is not None) == fast


@pytest.mark.parametrize("read", [last_state, all_states])
@pytest.mark.parametrize("kind", CELLS)
def test_noise_of_the_first_state_is_drawn_once_in_every_scheme(kind, read, monkeypatch):
    """With the kernel and without: else what one scheme draws later is not what another draws."""
    monkeypatch.setattr(Cell, "kernel_on_cpu", True)  # as on a GPU
    later = []
    for scheme in ("none", "weight", "layer", "recurrent_batch"):
        cell = make_cell(kind, named_norm(scheme), initial_noise=0.5)
        torch.manual_seed(3)
        read(cell, pack(sequences()))
        later.append(torch.rand(()))
    torch.manual_seed(3)
    torch.randn(len(LENGTHS), UNITS, dtype=torch.double)
    assert later == [torch.rand(())] * 4


def test_layer_normalized_gru_is_the_papers_with_the_update_gate_turned():
    """(z, r) = LN(W_h h) + LN(W_x x), n = tanh(LN(W x) + s(r) LN(U h)), h = (1 - s(z)) h + s(z) n; no other bias."""
    cell, x, h = make_cell("gru", LayerNorm()), torch.randn(5, INPUTS).double(), torch.randn(5, UNITS).double()
    assert cell.bias is None
    assert cell.candidate_bias is None

    def ln(name: str, values: torch.Tensor, turned: bool = False) -> torch.Tensor:
        module = getattr(cell, name).module
        sign = torch.tensor([1.0] * UNITS + [-1.0] * UNITS).double() if turned else 1.0
        return nn.functional.layer_norm(values, values.shape[1:]) * module.weight * sign + module.bias * sign

    w, u = x @ cell.input.weight.T, h @ cell.state.weight.T
    gates = ln("norm_state", u[:, : 2 * UNITS], True) + ln("norm_input", w[:, : 2 * UNITS], True)
    r, z = gates.sigmoid().chunk(2, 1)
    n = (ln("norm_input_candidate", w[:, 2 * UNITS :]) + r * ln("norm_state_candidate", u[:, 2 * UNITS :])).tanh()
    (found,) = cell.step(cell.from_inputs(x, [5]), (h,), cell.state.weight.T, 0)
    torch.testing.assert_close(found, (1 - z) * h + z * n)


def test_layer_normalized_lstm_has_three_gains_three_biases_and_b():
    cell = CELLS["lstm"](INPUTS, UNITS, LayerNorm(), STEPS)
    sizes = {name: parameter.numel() for name, parameter in cell.named_parameters() if parameter.dim() == 1}
    sites = {"norm_input": 4 * UNITS, "norm_state": 4 * UNITS, "norm_memory": UNITS}
    assert sizes == {"bias": 4 * UNITS} | {
        f"{site}.module.{kind}": size for site, size in sites.items() for kind in ("weight", "bias")
    }


def test_batch_normalized_lstm_has_no_bias_in_the_two_inner_terms():
    cell = CELLS["lstm"](INPUTS, UNITS, named_norm("recurrent_batch"), STEPS)
    assert {name for name, _ in cell.named_parameters() if name.endswith("bias")} == {"bias", "norm_memory.bias"}
    gains = [part.weight for part in (cell.norm_input, cell.norm_state, cell.norm_memory)]
    assert all(bool((gain == torch.tensor(0.1)).all()) for gain in gains)


@pytest.mark.slow
def test_normprop_constants_are_where_the_variances_settle():
    """A simulation with independent gates N(0, 8), 8 = gamma_x^2 + gamma_h^2."""
    generator = torch.Generator().manual_seed(0)

    def gate(std: float = 8**0.5) -> torch.Tensor:
        return std * torch.randn(1_000_000, generator=generator)

    c, h = torch.zeros(1_000_000), torch.zeros(1_000_000)
    for _ in range(25):
        c = gate().sigmoid() * c + gate().sigmoid() * gate().tanh()
        z, n = gate().sigmoid(), (gate(2.0) + gate().sigmoid() * gate(2.0)).tanh()
        h = (1 - z) * n + z * h
    found = {"memory": c.std(), "gru": h.std(), "rnn": gate().tanh().std()}
    found["lstm"] = (gate().sigmoid() * gate(1.0).tanh()).std()
    for site, std in found.items():
        assert recurrent_std(site, 2.0) == pytest.approx(std.item(), rel=0.003)
        name = "norm_memory" if site == "memory" else site
        assert recurrent_std(site, 2.0) == pytest.approx(settled_std(name), rel=1e-9)
