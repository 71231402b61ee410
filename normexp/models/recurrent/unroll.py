"""One cell over a batch of sequences of any lengths."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from normexp.models.recurrent.cell import Cell, State, weight_of


def pack(x: Tensor, lengths: Tensor | None = None) -> PackedSequence:
    """Return x: (N, T, D) time step by time step, the longest sequence first, without its padding.

    So padding is never computed: it enters no state and no statistic. Only the first `lengths[n]` steps of sequence n
    count, all of them where there are no lengths; a sequence of length 0 is read as one step.
    """
    if lengths is not None:
        return pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
    count, steps, _ = x.shape
    return PackedSequence(x.transpose(0, 1).flatten(0, 1), torch.full((steps,), count))


def last_state(cell: Cell, x: PackedSequence) -> Tensor:
    """Return h after the last step of every sequence, (N, H), in the order of the batch."""
    start = starting(cell, x)
    found = cell.by_kernel(x, start)
    last = _last(unroll(cell, x, start), x.batch_sizes.tolist()) if found is None else found[1]
    return last if x.unsorted_indices is None else last.index_select(0, x.unsorted_indices)


def all_states(cell: Cell, x: PackedSequence) -> Tensor:
    """Return h of all steps, (R, H), row by row as in x."""
    start = starting(cell, x)
    found = cell.by_kernel(x, start)
    return torch.cat(unroll(cell, x, start)) if found is None else found[0]


def starting(cell: Cell, x: PackedSequence) -> State:
    """Return the state in front of the first step. It may be drawn: once a pass, by kernel or not, in every scheme."""
    return cell.start(int(x.batch_sizes[0]), x.data)


def unroll(cell: Cell, x: PackedSequence, state: State) -> list[Tensor]:
    """Return h of every time step, each (number of sequences that are so long, H), by the written-out equations."""
    sizes = x.batch_sizes.tolist()
    weight, outputs = weight_of(cell.state).t(), []
    for t, x_t in enumerate(cell.from_inputs(x.data, sizes).split(sizes)):
        if len(x_t) < len(state[0]):
            state = tuple(part[: len(x_t)] for part in state)
        state = cell.step(x_t, state, weight, t)
        outputs.append(state[0])
    return outputs


def _last(outputs: list[Tensor], sizes: list[int]) -> Tensor:
    """Return the last output of every sequence; those of step t that do not go on are the last rows."""
    ends = [h[longer:] for h, longer in zip(outputs, [*sizes[1:], 0], strict=True) if len(h) > longer]
    return torch.cat(ends[::-1]) if len(ends) > 1 else ends[0]
