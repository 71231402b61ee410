"""The attentive reader: it reads a question and a document, looks for the answer and names it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from normexp.models.attention import Attention, Term
from normexp.models.recurrent.cell import Cell
from normexp.models.recurrent.lstm import LSTMCell
from normexp.models.recurrent.reader import Reader
from normexp.models.texts import document_and_question
from normexp.norms.base import Norm


class AttentiveReader(nn.Module):
    """LSTMs read the document to y_1, y_2, ... and the question to u; attention makes r of the y_t, given u.

    The answer is a word of the vocabulary: W tanh(N3(W_r r) + N4(W_u u) + b) + a, see `Attention` for r. Words have
    vectors of their own, the same in document and question. An empty document or question is one word of padding.

    Args:
        input_shape: (T, 3), see `normexp.data.texts.tokens`; no document and no question has more than T words in
            training.
        num_outputs: size of the vocabulary; a word's number in x is its class.
        hidden: units of every LSTM, of the attention and of the layer before the answer.
        embedding: size of the words' vectors, which start as N(0, 1).
        bidirectional: read both texts backwards too, with LSTMs of their own.
        normalize_attention: the scheme acts on the four terms that enter a tanh too (N1 to N4), not on LSTMs alone.
        dropout: rate at the words' vectors and before the answer.
        forget_bias: initial bias of the LSTMs' forget gates.
        recurrent_init: initial weights of the LSTMs, see `Cell`; another option of `init` than its default draws them
            instead.
        learned_state: learn the initial states.

    Shape: (N, T, 3) -> (N, num_outputs).
    Source: Hermann et al. 2015, arXiv:1506.03340, section 3.2; `normalize_attention`: BN-everywhere of Cooijmans et
    al. 2017, arXiv:1603.09025, section 5.4; dropout where their code has it.
    Differs: b, as in that code. That code adds to the equations, a bilinear similarity of y_t and u within the
    attention and the mean of the y_t beside r; this does not.
    """

    keeps_initialization = True

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        hidden: int = 100,
        embedding: int = 100,
        bidirectional: bool = True,
        normalize_attention: bool = False,
        dropout: float = 0.0,
        forget_bias: float = 1.0,
        recurrent_init: str = "uniform",
        learned_state: bool = False,
    ) -> None:
        super().__init__()
        steps = input_shape[0]
        options: dict[str, Any] = {"forget_bias": forget_bias}
        options |= {"recurrent_init": recurrent_init, "learned_state": learned_state}

        def cell() -> Cell:
            return LSTMCell(embedding, hidden, norm, steps, **options)

        self.words = nn.Embedding(num_outputs, embedding, padding_idx=0)
        self.document, self.question = Reader(cell, bidirectional), Reader(cell, bidirectional)
        features, of_terms = self.document.num_features, norm if normalize_attention else Norm()
        self.attention = Attention(features, hidden, of_terms, steps)
        self.from_document = Term(features, hidden, of_terms)
        self.from_question = Term(features, hidden, of_terms)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, num_outputs)

    def forward(self, x: Tensor) -> Tensor:
        document, question = (self._vectors(words) for words in document_and_question(x))
        u = self.question.last(question)
        r = self.attention(document._replace(data=self.document.states(document)), u)
        g = (self.from_document(r) + self.from_question(u) + self.bias).tanh()
        return self.output(self.dropout(g))

    def _vectors(self, words: PackedSequence) -> PackedSequence:
        return words._replace(data=self.dropout(self.words(words.data)))
