"""Self-attention of several heads."""

from __future__ import annotations

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from normexp.models.transformer.positions import Rotary
from normexp.norms.base import Norm


class HeadNorms(NamedTuple):
    """What is done to queries, keys and values, (N, heads, T, C / heads), before they meet.

    Args:
        scale: of the products of queries and keys; None is 1 / sqrt(C / heads).
    """

    query: nn.Module
    key: nn.Module
    value: nn.Module
    scale: float | None = None


class SelfAttention(nn.Module):
    """softmax(scale Q K^T) V for every head, then a linear layer.

    Args:
        norm: (re)parametrizes both linear layers.
        heads: divide `width`.
        head_norms: what is done to queries, keys and values.
        inner: what stands between the heads and the output layer, on (N, T, C).
        rotary: turns queries and keys by their positions; None where the input tells positions.
        causal: a position sees itself and those before it.
        dropout: of the attention weights, in training.

    Shape: (N, T, C) -> (N, T, C).
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        norm: Norm,
        head_norms: HeadNorms,
        inner: nn.Module,
        rotary: Rotary | None,
        causal: bool,
        dropout: float,
        bias: bool,
    ) -> None:
        super().__init__()
        self.heads, self.causal, self.dropout, self.scale = heads, causal, dropout, head_norms.scale
        self.qkv = norm.parametrize(nn.Linear(width, 3 * width, bias))
        self.query, self.key, self.value = head_norms[:3]
        self.rotary = rotary
        self.inner = inner
        self.output = norm.parametrize(nn.Linear(width, width, bias))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k, v = self.query(q), self.key(k), self.value(v)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=self.causal, scale=self.scale)
        return self.output(self.inner(y.transpose(1, 2).flatten(2)))
