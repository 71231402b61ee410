"""The gated recurrent unit under any scheme."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.models.recurrent.cell import Cell, State, own_bias, weight_of
from normexp.norms.base import Norm


class GRUCell(Cell):
    """(r, z) = N1(W_h h) + N2(W_x x) + b, n = N5(tanh(N4(W_x' x) + s(r) (N3(W_h' h) + b'))), h = (1 - s(z)) n + s(z) h.

    N1 to N4 are the scheme at `term`, N5 at `gru`; s is the sigmoid. b and b' exist where the normalization of their
    sum has no bias of its own: not in the LN-GRU. Without a scheme the cell is torch.nn.GRU with b the sum of its two
    biases, but for the candidate, where b' is the second.

    Args:
        options: of `Cell`.

    Source: Cho et al. 2014, arXiv:1406.1078, with the reset gate after the product, as torch has it; Ba et al. 2016,
    arXiv:1607.06450, supplement.
    Differs: s(z) keeps the state as in torch; in Ba et al. it replaces it. Changing the sign of z's gains and biases
    turns one into the other.
    """

    gates: ClassVar[int] = 3
    candidate: ClassVar[int] = 2
    kernel = staticmethod(torch.gru)

    candidate_bias: nn.Parameter | None

    def __init__(self, num_inputs: int, num_units: int, norm: Norm, max_steps: int, **options: Any) -> None:
        super().__init__(num_inputs, num_units, norm, max_steps, **options)
        self.norm_input = norm.recurrent(2 * num_units, max_steps, "term")
        self.norm_state = norm.recurrent(2 * num_units, max_steps, "term")
        self.norm_input_candidate = norm.recurrent(num_units, max_steps, "term")
        self.norm_state_candidate = norm.recurrent(num_units, max_steps, "term")
        self.norm_output = norm.recurrent(num_units, max_steps, "gru")
        self.register_parameter("bias", own_bias(3 * num_units, self.norm_input, self.norm_input_candidate))
        self.register_parameter("candidate_bias", own_bias(num_units, self.norm_state_candidate))

    def from_inputs(self, x: Tensor, sizes: list[int]) -> Tensor:
        gates, candidate = F.linear(x, weight_of(self.input)).split((2 * self.num_units, self.num_units), dim=1)
        parts = (self.norm_input.all_steps(gates, sizes), self.norm_input_candidate.all_steps(candidate, sizes))
        rows = torch.cat(parts, dim=1)
        return rows if self.bias is None else rows + self.bias

    def step(self, x: Tensor, state: State, weight: Tensor, t: int) -> State:
        (h,) = state
        two = 2 * self.num_units
        gates, proposal = torch.mm(h, weight).split((two, self.num_units), dim=1)
        r, z = (x[:, :two] + self.norm_state(gates, t)).sigmoid().chunk(2, dim=1)
        proposal = self.norm_state_candidate(proposal, t)
        if self.candidate_bias is not None:
            proposal = proposal + self.candidate_bias
        n = self.norm_output(torch.addcmul(x[:, two:], r, proposal).tanh(), t)
        return (n + z * (h - n),)

    def kernel_biases(self) -> tuple[Tensor, Tensor] | None:
        if self.bias is None or self.candidate_bias is None:
            return None
        none = torch.zeros_like(self.bias[: 2 * self.num_units])
        return self.bias, torch.cat((none, self.candidate_bias))
