"""Recurrent classifiers as most people would write them, to race against."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normexp.models.recurrent.cell import weight_of
from normexp.models.recurrent.lstm import LSTMCell


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
