"""A batch of questions about documents, as networks read it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from normexp.models.recurrent.unroll import pack


def document_and_question(x: Tensor) -> tuple[PackedSequence, PackedSequence]:
    """Return the word numbers of both, int64 (R,), each without its padding; what is empty is one word of padding.

    x: (N, T, 3) holds the number of every word, its part (0 in the document, 1 in the question that follows it) and
    the mask, as in `normexp.data.texts.tokens`.
    """
    words, part, mask = x[..., 0].long(), x[..., 1], x[..., 2]
    asked = (mask * part).sum(1).long()
    told = mask.sum(1).long() - asked
    places = (torch.arange(x.shape[1], device=x.device) + told[:, None]).clamp(max=x.shape[1] - 1)
    return _packed(words, told), _packed(words.gather(1, places), asked)


def _packed(words: Tensor, lengths: Tensor) -> PackedSequence:
    found = pack(words[..., None], lengths)
    return found._replace(data=found.data[:, 0])
