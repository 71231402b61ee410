"""The simple recurrent cell under any scheme."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from normexp.models.recurrent.cell import Cell, State, own_bias, weight_of
from normexp.norms.base import Norm


class RNNCell(Cell):
    """h = N2(tanh(N1(W_h h + W_x x) + b)).

    N1 is the scheme at `sum`, N2 at `rnn`. b exists where N1 has no bias of its own. Without a scheme the cell is
    torch.nn.RNN with b the sum of its two biases.

    Args:
        options: of `Cell`.

    Source: Elman 1990; Ba et al. 2016, arXiv:1607.06450, equation 4.
    """

    gates: ClassVar[int] = 1
    candidate: ClassVar[int] = 0
    kernel = staticmethod(torch.rnn_tanh)

    def __init__(self, num_inputs: int, num_units: int, norm: Norm, max_steps: int, **options: Any) -> None:
        super().__init__(num_inputs, num_units, norm, max_steps, **options)
        self.norm_sum = norm.recurrent(num_units, max_steps, "sum")
        self.norm_output = norm.recurrent(num_units, max_steps, "rnn")
        self.register_parameter("bias", own_bias(num_units, self.norm_sum))

    def from_inputs(self, x: Tensor, sizes: list[int]) -> Tensor:
        return F.linear(x, weight_of(self.input))

    def step(self, x: Tensor, state: State, weight: Tensor, t: int) -> State:
        total = self.norm_sum(torch.addmm(x, state[0], weight), t)
        total = total if self.bias is None else total + self.bias
        return (self.norm_output(total.tanh(), t),)
