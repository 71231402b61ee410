"""Recurrent networks: forward and backward beside torch.nn.LSTM and an LN-LSTM written out step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.turns import in_turns, one_thread
from normexp.models.lstm_classifier import LSTMClassifier
from normexp.models.recurrent.cell import weight_of
from normexp.models.recurrent.lstm import LSTMCell
from normexp.norms.checks.subject import reproducible
from normexp.norms.checks.tasks import Task, seconds
from normexp.training.build import named_norm

SHAPE, UNITS, CLASSES = (100, 100, 28), 100, 10  # batch, time steps, features
SMALL = (20, 20, 8)
NORMS = ("none", "layer", "rms", "weight", "normprop", "recurrent_batch")
TORCH, BY_HAND = "torch.nn.LSTM", "LN-LSTM, written out step by step"
TOLERANCE = 1e-4  # of outputs in float32


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Time one network after the other, round by round, with one thread."""
    shape = SMALL if quick else SHAPE
    with one_thread():
        with reproducible():
            networks, x, y = build(shape), torch.randn(shape), torch.randint(CLASSES, (shape[0],))
        wrong = differences(networks, x)
        times = in_turns({name: step(network, x, y) for name, network in networks.items()}, 3 * rounds, seconds)
    yield result(times, shape, wrong)


def build(shape: Sequence[int]) -> dict[str, nn.Module]:
    """Return the networks by what they are called; those that can be equal have equal weights."""
    steps, features = shape[1:]

    def ours(norm: str, cell: str) -> LSTMClassifier:
        return LSTMClassifier((steps, features), CLASSES, named_norm(norm), cell, UNITS)

    networks: dict[str, nn.Module] = {f"LSTM, {norm}": ours(norm, "lstm") for norm in NORMS}
    for name, kind, norm in ((TORCH, TorchLSTM, "none"), (BY_HAND, LayerNormLSTM, "layer")):
        twin, network = networks[f"LSTM, {norm}"], kind(features, UNITS, CLASSES)
        network.copy(twin.cell, twin.output)  # type: ignore[arg-type]
        networks[name] = network
    return networks | {
        f"{cell.upper()}, {norm}": ours(norm, cell) for cell in ("gru", "rnn") for norm in ("none", "layer")
    }


def differences(networks: dict[str, nn.Module], x: Tensor) -> tuple[str, ...]:
    """Return a line for every rival whose answers are not those of its twin."""
    found = []
    for name, twin in ((TORCH, "LSTM, none"), (BY_HAND, "LSTM, layer")):
        with torch.no_grad():
            apart = float((networks[name](x) - networks[twin](x)).abs().max())
        if not apart <= TOLERANCE:
            found.append(f"recurrent: the answers of {name} differ by {apart:.2g}, at most {TOLERANCE} is allowed")
    return tuple(found)


def step(network: nn.Module, x: Tensor, y: Tensor) -> Task:
    """Return one forward and backward pass of training."""

    def once() -> None:
        network.zero_grad(set_to_none=True)
        F.cross_entropy(network(x), y).backward()

    return once


def result(times: dict[str, list[float]], shape: Sequence[int], wrong: tuple[str, ...]) -> Result:
    rivals = (TORCH, BY_HAND)
    n, steps, features = shape
    return Result(
        name="recurrent",
        caption=f"Forward and backward of recurrent networks with {UNITS} units on {n} sequences of {steps} steps of "
        f"{features} numbers, fp32, one thread: time relative to two that people would write. Median of paired ratios "
        "(least to greatest).",
        headers=["network", *(f"of {rival}" for rival in rivals)],
        cells=[[name, *(str(Ratio.of(own, times[rival])) for rival in rivals)] for name, own in times.items()],
        notes=("The answers of the two rivals equal those of normexp's networks with the same weights.",),
        data={"seconds": times},
        wrong=wrong,
    )


class TorchLSTM(nn.Module):
    """torch.nn.LSTM and a linear layer on its last output: (N, T, D) -> (N, num_outputs)."""

    def __init__(self, num_inputs: int, num_units: int, num_outputs: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(num_inputs, num_units, batch_first=True)
        self.output = nn.Linear(num_units, num_outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.lstm(x)[0][:, -1])

    @torch.no_grad()
    def copy(self, cell: LSTMCell, output: nn.Linear) -> None:
        """Take the weights of one of normexp's networks."""
        parameters = dict(self.lstm.named_parameters())
        parameters["weight_ih_l0"].copy_(weight_of(cell.input))
        parameters["weight_hh_l0"].copy_(weight_of(cell.state))
        parameters["bias_ih_l0"].copy_(cell.bias)
        parameters["bias_hh_l0"].zero_()
        self.output.load_state_dict(output.state_dict())


class LayerNormLSTM(nn.Module):
    """The LN-LSTM equation by equation, step by step: (N, T, D) -> (N, num_outputs).

    Source: Ba et al. 2016, arXiv:1607.06450, equations 20 to 22.
    """

    def __init__(self, num_inputs: int, num_units: int, num_outputs: int) -> None:
        super().__init__()
        self.num_units = num_units
        self.from_x = nn.Linear(num_inputs, 4 * num_units, bias=False)
        self.from_h = nn.Linear(num_units, 4 * num_units, bias=False)
        self.norm_x, self.norm_h = nn.LayerNorm(4 * num_units), nn.LayerNorm(4 * num_units)
        self.norm_c = nn.LayerNorm(num_units)
        self.bias = nn.Parameter(torch.zeros(4 * num_units))
        self.output = nn.Linear(num_units, num_outputs)

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(len(x), self.num_units)
        for t in range(x.shape[1]):
            gates = self.norm_h(self.from_h(h)) + self.norm_x(self.from_x(x[:, t])) + self.bias
            i, f, g, o = gates.chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.norm_c(c))
        return self.output(h)

    @torch.no_grad()
    def copy(self, cell: LSTMCell, output: nn.Linear) -> None:
        """Take the weights of one of normexp's networks; gains and biases start alike."""
        self.from_x.weight.copy_(weight_of(cell.input))
        self.from_h.weight.copy_(weight_of(cell.state))
        self.bias.copy_(cell.bias)
        self.output.load_state_dict(output.state_dict())
