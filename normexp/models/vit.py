"""A small vision transformer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from normexp.models.output import output_layer
from normexp.models.placements.base import Placement
from normexp.models.placements.pre import PRE
from normexp.models.transformer.trunk import Sizes, Transformer, draw
from normexp.norms.base import Norm, weight_layers


class ViT(Transformer):
    """Patches of an image as tokens, layers of attention and feed-forward, linear output layer.

    A convolution embeds the patches, learned positions are added; the output layer reads a token of its own that goes
    along, or the average over the patches.

    Args:
        placement: where the scheme stands.
        patch: pixels of a patch's side; divides height and width of the images.
        layers, heads, width: see `Sizes`; the feed-forward branch is four times as wide.
        pool: `token` or `mean`.
        feed_forward: `gelu` or `swiglu`.
        qk_norm: an option of `norm` for queries and keys.
        init_std: standard deviation of the initial weights and positions.
        normalize_output: the scheme acts on the output layer too.

    Shape: (N, C, H, W) -> (N, num_outputs).
    Raises: ValueError for a patch that does not divide the images, and heads that do not divide the width.
    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1. Differs: all weights are drawn from one Gaussian, as
    GPT-2's; there the output layer begins at 0.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_outputs: int,
        norm: Norm,
        placement: Placement = PRE,
        patch: int = 4,
        layers: int = 4,
        heads: int = 4,
        width: int = 64,
        pool: str = "token",
        feed_forward: str = "gelu",
        qk_norm: str | None = None,
        dropout: float = 0.0,
        init_std: float = 0.02,
        normalize_output: bool = False,
    ) -> None:
        channels, height, breadth = input_shape
        if height % patch or breadth % patch:
            raise ValueError(f"model.patch={patch}: does not divide images of {height} x {breadth} pixels")
        tokens = (height // patch) * (breadth // patch) + (pool == "token")
        sizes = Sizes(layers, heads, width, 4 * width, tokens)
        super().__init__(
            sizes,
            norm,
            placement,
            causal=False,
            rotary=False,
            qk_norm=qk_norm,
            feed_forward=feed_forward,
            dropout=dropout,
            bias=True,
        )
        self.patches = norm.parametrize(nn.Conv2d(channels, width, patch, patch))
        self.positions = nn.Embedding(tokens, width)
        self.own = nn.Embedding(1, width) if pool == "token" else None
        self.output = output_layer(nn.Linear(width, num_outputs), norm, normalize_output)
        self.outputs = placement.outputs(num_outputs, width)
        draw(self, init_std)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        if self.own is not None:
            tokens = torch.cat([self.own.weight.expand(x.shape[0], 1, -1).to(tokens.dtype), tokens], 1)
        read = self.stream(tokens + self.positions.weight)
        return self.outputs(self.output(read.mean(1) if self.own is None else read[:, 0]))

    def tables(self) -> Iterator[Tensor]:
        (layer,) = weight_layers(self.output)
        if isinstance(layer.weight, nn.Parameter):
            yield layer.weight
