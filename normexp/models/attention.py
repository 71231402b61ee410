"""Attention of a question to a document."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from normexp.norms.base import Norm


class Term(nn.Module):
    """N(W x): one of the terms whose sum enters a tanh, which has the bias.

    Args:
        max_steps: length of the longest sequence in training; 1 where x has no time steps.
    """

    def __init__(self, num_inputs: int, num_outputs: int, norm: Norm, max_steps: int = 1) -> None:
        super().__init__()
        self.layer = norm.parametrize_recurrent(nn.Linear(num_inputs, num_outputs, bias=False))
        self.norm = norm.recurrent(num_outputs, max_steps, "term")

    def forward(self, x: Tensor, sizes: list[int] | None = None) -> Tensor:
        """Return (R, num_outputs) for x: (R, num_inputs), `sizes[t]` rows of every time step t in order."""
        return self.norm.all_steps(self.layer(x), [len(x)] if sizes is None else sizes)


class Attention(nn.Module):
    """s_t = softmax_t(w . tanh(N1(W_y y_t) + N2(W_u u) + b)), r = sum_t s_t y_t.

    The softmax runs over the steps of each document alone, never over padding.

    Args:
        num_features: of a document's state y_t and of the question u.
        norm: N1 and N2, as at a `term` of a recurrent network; N1 knows the time step.

    Source: Hermann et al. 2015, arXiv:1506.03340, section 3.2; N1 and N2: Cooijmans et al. 2017, arXiv:1603.09025,
    section 5.4. Differs: b, which is in Cooijmans et al.'s code but not in Hermann et al.'s equations. In that code
    the statistics of N1 are those of all steps together, padding included.
    """

    def __init__(self, num_features: int, num_units: int, norm: Norm, max_steps: int) -> None:
        super().__init__()
        self.from_document = Term(num_features, num_units, norm, max_steps)
        self.from_question = Term(num_features, num_units, norm)
        self.bias = nn.Parameter(torch.zeros(num_units))
        self.score = nn.Linear(num_units, 1, bias=False)

    def forward(self, document: PackedSequence, question: Tensor) -> Tensor:
        """Return r, (N, num_features), for the states of documents and for u: (N, num_features)."""
        term = self.from_document(document.data, document.batch_sizes.tolist())
        of_document, _ = pad_packed_sequence(document._replace(data=term), batch_first=True)
        m = (of_document + (self.from_question(question) + self.bias)[:, None]).tanh()
        y, lengths = pad_packed_sequence(document, batch_first=True)
        padding = (torch.arange(y.shape[1]) >= lengths[:, None]).to(y.device)
        s = self.score(m)[..., 0].masked_fill(padding, -torch.inf).softmax(1)
        return (s[:, None] @ y)[:, 0]
