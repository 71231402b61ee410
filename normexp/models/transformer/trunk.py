"""The layers of a transformer, from the embedding to what its head reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from normexp.config.instantiate import instantiate_option
from normexp.config.options import options
from normexp.errors import unknown
from normexp.models.placements.base import Placement, Site
from normexp.models.transformer.attention import HeadNorms, SelfAttention
from normexp.models.transformer.feed_forward import FeedForward
from normexp.models.transformer.positions import Rotary
from normexp.norms.base import Norm, is_of_scheme, set_weight, weight_layers


class Sizes(NamedTuple):
    """What gives a trunk its size.

    Args:
        layers: L, each of an attention and a feed-forward branch.
        heads: divide `width`.
        width: C, features of the residual stream.
        hidden: of the feed-forward branch, see `FeedForward`.
        context: most tokens.
    """

    layers: int
    heads: int
    width: int
    hidden: int
    context: int


class Transformer(nn.Module):
    """What `GPT` and `ViT` share: layers on a residual stream, normalized where the placement says.

    Args:
        norm: the scheme; it (re)parametrizes every linear layer, too.
        placement: where the scheme stands, see `normexp.models.placements`.
        causal: a position sees itself and those before it.
        rotary: turn queries and keys by their positions.
        qk_norm: an option of `norm` for queries and keys, over the features of each head; None leaves that to the
            placement.
        feed_forward: `gelu` or `swiglu`.

    A network derived from it has `layers`, and calls `stream` between its embedding and its head. Weights and
    embeddings are drawn from N(0, init_std^2), biases are 0; then the placement has its say, in `begin`.
    """

    keeps_initialization = True

    def __init__(
        self,
        sizes: Sizes,
        norm: Norm,
        placement: Placement,
        *,
        causal: bool,
        rotary: bool,
        qk_norm: str | None,
        feed_forward: str,
        dropout: float,
        bias: bool,
    ) -> None:
        super().__init__()
        check_heads(sizes, rotary)
        self.placement = placement
        self.drawn_from = int(torch.randint(2**62, (), device="cpu"))  # before a scheme draws anything of its own
        self.entry = nn.Sequential(placement.embedding(norm, sizes.width), nn.Dropout(dropout))
        turn = Rotary(sizes.width // sizes.heads, sizes.context) if rotary else None
        self.layers = nn.ModuleList()
        for layer in range(1, sizes.layers + 1):
            heads = head_norms(norm, placement, qk_norm, sizes)
            inner = placement.inner(norm, sizes.width)
            attention = SelfAttention(
                sizes.width, sizes.heads, norm, heads, inner, turn, causal, dropout=dropout, bias=bias
            )
            ahead = FeedForward(
                sizes.width,
                sizes.hidden,
                norm,
                feed_forward,
                entering=lambda features: placement.entering(features, sizes.width),
                inner=lambda features: placement.inner(norm, features),
                bias=bias,
            )
            site = Site(sizes.width, layer, sizes.layers, dropout)
            self.layers.append(nn.ModuleList(placement.layer(attention, ahead, norm, site)))
        self.final = placement.final(norm, sizes.width)

    def stream(self, x: Tensor) -> Tensor:
        """Return what the head reads, for embedded tokens: (N, T, C) both."""
        x = self.entry(x)
        for layer in self.layers:
            for residual in layer:  # type: ignore[attr-defined]
                x = residual(x)
        return self.final(x)

    def tables(self) -> Iterator[Tensor]:
        """Yield the matrices with one row of C numbers a token or output, which are not linear layers of a branch."""
        yield from ()

    def begin(self) -> None:
        """Let the placement change the weights from how they were drawn to how they begin."""
        self.placement.initialize(self)

    def update_hook(self) -> Callable[[], None] | None:
        """Return what to call after every update of the weights, or None."""
        if type(self.placement).after_update is Placement.after_update:
            return None
        return lambda: self.placement.after_update(self)


def check_heads(sizes: Sizes, rotary: bool) -> None:
    """Raise ValueError for heads that do not divide the width, or whose features are no pairs to be turned."""
    if sizes.width % sizes.heads:
        raise ValueError(f"model.width={sizes.width}: is not divisible by model.heads={sizes.heads}")
    if rotary and (sizes.width // sizes.heads) % 2:
        raise ValueError(f"rotary positions need an even width of a head, not {sizes.width // sizes.heads}")


def head_norms(norm: Norm, placement: Placement, qk_norm: str | None, sizes: Sizes) -> HeadNorms:
    """Return what is done to queries, keys and values: the placement's, or `qk_norm` for queries and keys."""
    width = sizes.width // sizes.heads
    found = placement.heads(norm, sizes.heads, width)
    if qk_norm is None:
        return found
    scheme = scheme_of(qk_norm)
    return found._replace(query=scheme.sequence(width), key=scheme.sequence(width))


def scheme_of(name: str) -> Norm:
    """Return the scheme of an option of `norm`, with its defaults. Raises UserError for a name that there is not."""
    if name not in options("norm"):
        raise unknown("model.qk_norm", name, options("norm"))
    made: Norm = instantiate_option("norm", name)
    return made


@torch.no_grad()
def draw(model: Transformer, std: float) -> None:
    """Draw every Linear and Conv weight and every embedding from N(0, std^2); biases become 0.

    From a stream of their own, so that what else a scheme draws shifts nothing.
    """
    source = torch.Generator().manual_seed(model.drawn_from)
    for layer in weight_layers(model):
        if layer.weight.is_meta:
            return
        set_weight(layer, torch.empty(layer.weight.shape).normal_(0.0, std, generator=source))  # type: ignore[arg-type]
        if isinstance(layer.bias, Tensor):
            layer.bias.zero_()
    for module in model.modules():
        if isinstance(module, nn.Embedding) and not is_of_scheme(module):
            module.weight.normal_(0.0, std, generator=source)
