"""What all recurrent cells share: W_x and W_h of all gates at once, their initial values, the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from normexp.norms.base import Norm, Step

State = tuple[Tensor, ...]  # h, or h and c: each (N, H)


class Cell(nn.Module):
    """W_x x and W_h h of all gates, one below the other in torch's order, each one matrix product.

    A subclass says what becomes of the inputs of all time steps at once (`from_inputs`), how one step goes on from
    there (`step`), and which of torch's functions is the same where a scheme changes the weights alone (`kernel`).
    The layers `input` and `state` hold the weights and are never called, so that what a scheme or an option of
    `init` does when a layer is called (data-dependent initialization) leaves a recurrence alone.

    Args:
        max_steps: length of the longest sequence in training, for schemes that keep statistics of every time step.
        recurrent_init: `uniform` draws all weights from (-1/sqrt(H), 1/sqrt(H)) as torch does. `orthogonal` makes
            W_x and W_h matrices of orthonormal columns. `identity` does so too, but for the candidate's block of
            W_h (the only one of an RNN), which is the identity.
        learned_state: learn the initial state (starts at 0).
        initial_noise: in training, standard deviation of Gaussian noise on the initial h.

    Source: Cooijmans et al. 2017, arXiv:1603.09025, section 5, and their code, for initializations and noise.
    """

    gates: ClassVar[int]
    candidate: ClassVar[int]  # place of the block that proposes a new value, among the gates
    states: ClassVar[int] = 1
    kernel: ClassVar[Callable[..., tuple[Tensor, ...]]]  # on packed sequences
    kernel_on_cpu: ClassVar[bool] = False  # it is faster than steps one by one there, too

    bias: nn.Parameter | None
    initial: nn.Parameter | None

    def __init__(
        self,
        num_inputs: int,
        num_units: int,
        norm: Norm,
        max_steps: int,
        recurrent_init: str = "uniform",
        learned_state: bool = False,
        initial_noise: float = 0.0,
    ) -> None:
        super().__init__()
        if num_units < 1:
            raise ValueError(f"a recurrent cell needs at least 1 unit, not {num_units}")
        self.num_units, self.initial_noise = num_units, initial_noise
        input_layer = nn.Linear(num_inputs, self.gates * num_units, bias=False)
        state_layer = nn.Linear(num_units, self.gates * num_units, bias=False)
        self._draw(recurrent_init, input_layer.weight, state_layer.weight)
        self.input, self.state = norm.parametrize_recurrent(input_layer), norm.parametrize_recurrent(state_layer)
        start = nn.Parameter(torch.zeros(self.states, num_units)) if learned_state else None
        self.register_parameter("initial", start)

    def from_inputs(self, x: Tensor, sizes: list[int]) -> Tensor:
        """Return what the inputs of all steps contribute, (R, D) -> (R, gates H); R rows, `sizes[t]` of step t."""
        raise NotImplementedError

    def step(self, x: Tensor, state: State, weight: Tensor, t: int) -> State:
        """Return the next state.

        x: (N, gates H) is the part of `from_inputs` that belongs to step t; weight: (H, gates H) is W_h transposed.
        """
        raise NotImplementedError

    def by_kernel(self, x: PackedSequence, state: State) -> tuple[Tensor, Tensor] | None:
        """Return h of all steps, (R, H), and of each sequence's last, (N, H), by torch's kernel for such a cell.

        None where a scheme acts on more than the weights: then the steps have to be taken one by one. None, too, where
        that is faster: on a CPU torch's RNN and GRU take three to five times as long.
        """
        if x.data.device.type == "cpu" and not self.kernel_on_cpu:
            return None
        biases = self.kernel_biases()
        if biases is None or not all(part.does_nothing for part in self.children() if isinstance(part, Step)):
            return None
        weights = (weight_of(self.input), weight_of(self.state), *biases)
        start = [part[None].contiguous() for part in state]
        first = start[0] if self.states == 1 else start
        h, last, *_ = self.kernel(x.data, x.batch_sizes, first, weights, True, 1, 0.0, self.training, False)
        return h, last[0]

    def kernel_biases(self) -> tuple[Tensor, Tensor] | None:
        """Return the two biases of torch's cell, of W_x x and of W_h h; None where the cell lacks one."""
        bias = self.bias
        return (bias, torch.zeros_like(bias)) if isinstance(bias, Tensor) else None

    def start(self, count: int, like: Tensor) -> State:
        """Return the initial state of `count` sequences, of like's type and device."""
        if self.initial is None:
            state = [like.new_zeros(count, self.num_units) for _ in range(self.states)]
        else:
            state = [row.expand(count, -1) for row in self.initial]
        if self.training and self.initial_noise > 0:
            state[0] = state[0] + self.initial_noise * torch.randn_like(state[0])
        return tuple(state)

    @torch.no_grad()
    def _draw(self, how: str, input_weight: Tensor, state_weight: Tensor) -> None:
        if how == "uniform":
            for weight in (input_weight, state_weight):
                weight.uniform_(-(self.num_units**-0.5), self.num_units**-0.5)
            return
        nn.init.orthogonal_(input_weight)
        if how == "orthogonal":
            nn.init.orthogonal_(state_weight)
        elif how == "identity":
            self._draw_around_identity(state_weight)
        else:
            raise ValueError(f"recurrent_init must be 'uniform', 'orthogonal' or 'identity', not {how!r}")

    def _draw_around_identity(self, weight: Tensor) -> None:
        units = self.num_units
        blocks = list(weight.split(units))
        blocks.pop(self.candidate).copy_(torch.eye(units))
        if blocks:
            others = nn.init.orthogonal_(weight.new_empty(len(blocks) * units, units))
            for block, drawn in zip(blocks, others.split(units), strict=True):
                block.copy_(drawn)


def weight_of(layer: nn.Module) -> Tensor:
    """Return the layer's weight, computed anew where a scheme reparametrizes it: ask once per pass, not per step."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return weight


def add_normalized(x: Tensor, h: Tensor, weight: Tensor, step: Step, t: int) -> Tensor:
    """Return x + step(h weight): (N, C), for h: (N, H) and weight: (H, C)."""
    return torch.addmm(x, h, weight) if step.does_nothing else x + step(torch.mm(h, weight), t)


def own_bias(num_features: int, *steps: Step) -> nn.Parameter | None:
    """Return a bias for a sum of which no term brings one, else None."""
    brought = any(name.endswith("bias") for step in steps for name, _ in step.named_parameters())
    return None if brought else nn.Parameter(torch.zeros(num_features))
