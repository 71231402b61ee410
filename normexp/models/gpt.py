"""A decoder: a transformer that predicts every next token of a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.models.placements.base import Placement
from normexp.models.placements.pre import PRE
from normexp.models.transformer.trunk import Sizes, Transformer, draw
from normexp.norms.base import Norm


class GPT(Transformer):
    """Embedding, layers of causal attention and feed-forward, linear output layer.

    With the defaults of `configs/model/gpt.yaml`, but 12 layers, 12 heads, width 768, 1,024 tokens of 50,257 kinds and
    `norm=layer`, it is GPT-2 with its 124,439,808 parameters.

    Args:
        placement: where the scheme stands.
        layers, heads, width: see `Sizes`; the feed-forward branch is four times as wide.
        positions: `learned`, added to the embedding, or `rotary`.
        feed_forward: `gelu` or `swiglu`.
        tied: the output layer's weight is the embedding.
        qk_norm: an option of `norm` for queries and keys.
        bias: linear layers have one; the output layer has none.
        scaled_embedding: multiply what is embedded by one learned number, at first sqrt(width); Zhu et al. 2025,
            arXiv:2503.10622, need it for decoders with dynamic tanh.
        init_std: standard deviation of the initial weights and embeddings.

    Shape: (N, T) token numbers -> (N, T, num_outputs), T at most `input_shape[0]`.
    Raises: ValueError for heads that do not divide the width.
    Source: Radford et al. 2019 (GPT-2). Differs: GELU is not approximated; where a scheme has biases, they are its own.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        placement: Placement = PRE,
        layers: int = 2,
        heads: int = 4,
        width: int = 64,
        positions: str = "learned",
        feed_forward: str = "gelu",
        tied: bool = True,
        qk_norm: str | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        init_std: float = 0.02,
        scaled_embedding: bool = False,
    ) -> None:
        context, rotary = input_shape[0], positions == "rotary"
        sizes = Sizes(layers, heads, width, 4 * width, context)
        super().__init__(
            sizes,
            norm,
            placement,
            causal=True,
            rotary=rotary,
            qk_norm=qk_norm,
            feed_forward=feed_forward,
            dropout=dropout,
            bias=bias,
        )
        self.context = context
        self.tokens = nn.Embedding(num_outputs, width)
        self.positions = None if rotary else nn.Embedding(context, width)
        self.scale = nn.Parameter(torch.tensor(math.sqrt(width))) if scaled_embedding else None
        self.head = None if tied else nn.Linear(width, num_outputs, bias=False)
        self.outputs = placement.outputs(num_outputs, width)
        draw(self, init_std)

    def forward(self, x: Tensor) -> Tensor:
        embedded = self.tokens(x.long())
        if self.positions is not None:
            embedded = embedded + self.positions(torch.arange(x.shape[1], device=x.device))
        if self.scale is not None:
            embedded = embedded * self.scale
        read = self.stream(embedded)
        return self.outputs(F.linear(read, self.tokens.weight) if self.head is None else self.head(read))

    def tables(self) -> Iterator[Tensor]:
        yield self.tokens.weight
        if self.head is not None:
            yield self.head.weight
