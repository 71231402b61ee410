"""A decoder and its loop as a tutorial on GPT writes them: eager torch, one layer after the other."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.bench.sides.resident import batches, plain_loop
from normexp.bench.work import Train, Work
from normexp.errors import UserError


class Layer(nn.Module):
    """Causal attention and feed-forward, with layer normalization in front of both: (N, T, C) -> (N, T, C)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.mix = nn.Linear(width, width, bias=False)
        self.norm_2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        n, t, c = x.shape
        q, k, v = (
            part.view(n, t, self.heads, c // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm_1(x)).split(c, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(y.transpose(1, 2).contiguous().view(n, t, c))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class PlainGPT(nn.Module):
    """Token numbers (N, T) -> outputs (N, T, vocabulary); the head is the embedding."""

    def __init__(self, vocabulary: int, context: int, layers: int, heads: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.final = nn.LayerNorm(width)
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)

    def forward(self, x: Tensor) -> Tensor:
        embedded = self.tokens(x.long()) + self.positions(torch.arange(x.shape[1]))
        return F.linear(self.final(self.layers(embedded)), self.tokens.weight)

    @torch.no_grad()
    def copy(self, model: nn.Module) -> None:
        """Take the weights of one of normexp's decoders, whose parameters come in this order."""
        for mine, theirs in zip(self.parameters(), model.parameters(), strict=True):
            mine.copy_(theirs)


def train(work: Work) -> Train:
    """Raises: UserError for a decoder of another form."""
    options = work.config["model"]
    sizes = {key: options[key] for key in ("layers", "heads", "width")}
    model = PlainGPT(work.data.num_outputs, work.data.input_shape[0], **sizes)
    try:
        model.copy(work.model())
    except (ValueError, RuntimeError) as error:
        raise UserError(
            "bench: plain_gpt knows norm=layer placement=pre model.bias=false and the defaults of model=gpt"
        ) from error
    return plain_loop(work, batches(work), model)
