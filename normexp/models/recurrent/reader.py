"""Sequences read forwards and, if wanted, backwards too."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from normexp.models.recurrent.cell import Cell
from normexp.models.recurrent.unroll import all_states, last_state


class Reader(nn.Module):
    """A cell from a sequence's first step to its last and, if bidirectional, another one from the last to the first.

    Both read without padding: the second begins at the last step of every sequence, not of the longest. So schemes
    that keep statistics per time step count its steps from there.

    Args:
        make_cell: makes one of the cells.

    Source: Schuster & Paliwal 1997; the order of the second as in BN-e** of Cooijmans et al. 2017, arXiv:1603.09025.
    """

    def __init__(self, make_cell: Callable[[], Cell], bidirectional: bool) -> None:
        super().__init__()
        self.forwards = make_cell()
        self.backwards = make_cell() if bidirectional else None
        self.num_features = self.forwards.num_units * (2 if bidirectional else 1)

    def states(self, x: PackedSequence) -> Tensor:
        """Return h of all steps, (R, num_features), forwards then backwards, row by row as in x."""
        forwards = all_states(self.forwards, x)
        if self.backwards is None:
            return forwards
        order = mirrored(x.batch_sizes).to(x.data.device)
        backwards = all_states(self.backwards, x._replace(data=x.data[order]))
        return torch.cat((forwards, backwards[order]), dim=1)

    def last(self, x: PackedSequence) -> Tensor:
        """Return the last h of both directions, (N, num_features), in the order of the batch."""
        forwards = last_state(self.forwards, x)
        if self.backwards is None:
            return forwards
        order = mirrored(x.batch_sizes).to(x.data.device)
        return torch.cat((forwards, last_state(self.backwards, x._replace(data=x.data[order]))), dim=1)


def mirrored(sizes: Tensor) -> Tensor:
    """Return, for every row of a packed batch, the row of the same sequence that is as far from its end, (R,).

    sizes: (T,), the number of rows of every time step.
    """
    starts = sizes.cumsum(0) - sizes
    step = torch.arange(len(sizes)).repeat_interleave(sizes)
    sequence = torch.arange(len(step)) - starts[step]
    lengths = (sizes[:, None] > torch.arange(int(sizes[0]))).sum(0)
    return starts[lengths[sequence] - 1 - step] + sequence
