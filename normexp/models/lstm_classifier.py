"""A recurrent network that reads a sequence and then answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from normexp.models.output import output_layer
from normexp.models.recurrent.cell import Cell
from normexp.models.recurrent.gru import GRUCell
from normexp.models.recurrent.lstm import LSTMCell
from normexp.models.recurrent.rnn import RNNCell
from normexp.models.recurrent.unroll import last_state, pack
from normexp.norms.base import Norm

CELLS: dict[str, Callable[..., Cell]] = {"lstm": LSTMCell, "gru": GRUCell, "rnn": RNNCell}


class LSTMClassifier(nn.Module):
    """A recurrent cell over the sequence; a linear layer on its last state.

    Args:
        cell: `lstm`, `gru` or `rnn` (tanh).
        hidden: units of the cell.
        forget_bias: initial bias of the LSTM's forget gate.
        recurrent_init: initial weights of the cell, see `Cell`; another option of `init` than its default draws them
            instead.
        learned_state: learn the initial state.
        initial_noise: standard deviation of Gaussian noise on the initial h, in training.
        masked: the last feature is 1 within a sequence and 0 in the padding that follows; it is no input.
        normalize_output: the scheme acts on the output layer too.

    Shape: (N, T, D) -> (N, num_outputs).
    Source: Cooijmans et al. 2017, arXiv:1603.09025, section 5.1.
    """

    keeps_initialization = True

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        cell: str = "lstm",
        hidden: int = 100,
        forget_bias: float = 1.0,
        recurrent_init: str = "uniform",
        learned_state: bool = False,
        initial_noise: float = 0.0,
        masked: bool = False,
        normalize_output: bool = False,
    ) -> None:
        super().__init__()
        steps, features = input_shape
        if masked and features < 2:
            raise ValueError("model.masked=true takes the last feature as the mask, but the sequences have only one")
        self.masked = masked
        options: dict[str, Any] = {"forget_bias": forget_bias} if cell == "lstm" else {}
        options |= {"recurrent_init": recurrent_init, "learned_state": learned_state, "initial_noise": initial_noise}
        self.cell = CELLS[cell](features - masked, hidden, norm, steps, **options)
        self.output = output_layer(nn.Linear(hidden, num_outputs), norm, normalize_output)

    def forward(self, x: Tensor) -> Tensor:
        packed = pack(x[..., :-1], x[..., -1].sum(1).long()) if self.masked else pack(x)
        return self.output(last_state(self.cell, packed))
