"""The LSTM cell under any scheme."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.models.recurrent.cell import Cell, State, add_normalized, weight_of
from normexp.norms.base import Norm


class LSTMCell(Cell):
    """(i, f, g, o) = N1(W_h h) + N2(W_x x) + b, c = s(f) c + s(i) tanh(g), h = N4(s(o) tanh(N3(c))).

    N1 and N2 are the scheme at `term`, N3 at `memory`, N4 at `lstm`; s is the sigmoid. N1 to N3 are layer
    normalization in the LN-LSTM, each with a gain and a bias of its own beside b, and batch normalization of every
    time step in the BN-LSTM, N1 and N2 without a bias. N4 is a constant factor under normalization propagation and
    nothing otherwise. Without a scheme the cell is torch.nn.LSTM with b the sum of its two biases.

    Args:
        forget_bias: initial bias of the forget gate f; the others start at 0.
        options: of `Cell`.

    Source: Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000; Ba et al. 2016,
    arXiv:1607.06450, equations 20 to 22; Cooijmans et al. 2017, arXiv:1603.09025.
    Differs: the order of gates is torch's (the papers': f, i, o, g), which changes nothing.
    """

    gates: ClassVar[int] = 4
    candidate: ClassVar[int] = 2
    states: ClassVar[int] = 2
    kernel = staticmethod(torch.lstm)
    kernel_on_cpu: ClassVar[bool] = True

    bias: nn.Parameter

    def __init__(
        self, num_inputs: int, num_units: int, norm: Norm, max_steps: int, forget_bias: float = 1.0, **options: Any
    ) -> None:
        super().__init__(num_inputs, num_units, norm, max_steps, **options)
        self.norm_input = norm.recurrent(4 * num_units, max_steps, "term")
        self.norm_state = norm.recurrent(4 * num_units, max_steps, "term")
        self.norm_memory = norm.recurrent(num_units, max_steps, "memory")
        self.norm_output = norm.recurrent(num_units, max_steps, "lstm")
        bias = torch.zeros(4, num_units)
        bias[1] = forget_bias
        self.bias = nn.Parameter(bias.flatten())

    def from_inputs(self, x: Tensor, sizes: list[int]) -> Tensor:
        return self.norm_input.all_steps(F.linear(x, weight_of(self.input)), sizes) + self.bias

    def step(self, x: Tensor, state: State, weight: Tensor, t: int) -> State:
        h, c = state
        i, f, g, o = add_normalized(x, h, weight, self.norm_state, t).chunk(4, dim=1)
        c = torch.addcmul(i.sigmoid() * g.tanh(), f.sigmoid(), c)
        return self.norm_output(o.sigmoid() * self.norm_memory(c, t).tanh(), t), c
