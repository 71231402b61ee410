"""The gradient of a transformer's last layer by depth, or of every layer, with layer norm behind or in front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.seeding import generator
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.build import build_norm

HEADS, EXPANSION = 4, 4


@dataclass(frozen=True, kw_only=True)
class NormPlacement(Study):
    """The norm of the loss gradient of the last feed-forward layer's second weight, at initialization, by depth L.

    Step L is a net of L layers, each attention and feed-forward network with ReLU: `post` N(x + f(x)), `pre`
    x + f(N(x)) with one N at the end, or `pre_open`, without that one. `relative` is the gradient over that at the
    reference depth L0 with the same seed; `formula` is 1 for post and sqrt(L0 / L) for pre, and empty below L0, where
    the tokens are still becoming alike and the terms that the law leaves out count.

    Derived: the last layer's gradient is what comes from above times the layer's own input, which is normalized at
    either place. Post: the last N divides by the size of x + f(x), which is the same in every layer. Pre: the stream's
    square is s0 + c L, every sub-layer adding the same, and the last N divides the gradient by its root:
    sqrt((s0 + c L0) / (s0 + c L)) is sqrt(L0 / L) but for terms of order 1 / L0. Without the last N nothing divides.
    The remainder is 1 / L0 of the formula at either place; its factor of 1, and that post has one, are not derived.

    With `every` step l is layer l of the net with L0 layers, `relative` its gradient over the last layer's, and there
    is no formula.

    Args:
        placement: of the norm.
        layers: depths L.
        reference: L0, one of them.
        width, tokens: of the net and the sequence.
        sequences: in the batch, of standard normal embeddings; targets are random among `classes`.
        every: measure every layer at the reference depth.

    Raises: UserError for a scheme that does nothing to tokens. norm=none, which has no scheme, is a control.

    Source: Xiong et al. 2020, arXiv:2002.04745; derived above.
    """

    placement: str = "post"
    layers: Sequence[int] = (4, 8, 16, 32, 48)
    reference: int = 16
    width: int = 128
    tokens: int = 16
    sequences: int = 16
    classes: int = 64
    every: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        if self.reference not in self.layers:
            raise UserError(f"study.reference={self.reference} is none of study.layers={list(self.layers)}")
        if self.width % HEADS:
            raise UserError(f"study.width={self.width}: is not divisible by the {HEADS} heads of a layer")
        norm = build_norm(context.config)
        if type(norm) is not Norm and isinstance(norm.sequence(self.width), nn.Identity):
            raise UserError(
                f"study=norm_placement norm={context.config.choices['norm']}: the law does not apply: it leaves tokens "
                "as they are; use norm=layer, or norm=none for a control"
            )
        if self.every:
            found = self._gradients(norm, context.seed, self.reference)
            return Outcome([{"step": layer, "gradient": size, "relative": size / found[-1], "formula": math.nan,
                             "remainder": math.nan} for layer, size in enumerate(found, start=1)])  # fmt: skip
        sizes = {depth: self._gradients(norm, context.seed, depth, last=True)[0] for depth in self.layers}
        rows = []
        for depth, size in sizes.items():
            formula = 1.0 if self.placement == "post" else math.sqrt(self.reference / depth)
            formula = formula if depth > self.reference else math.nan
            rows.append({"step": depth, "gradient": size, "relative": size / sizes[self.reference],
                         "formula": formula, "remainder": formula / self.reference})  # fmt: skip
        return Outcome(rows)

    def _gradients(self, norm: Norm, seed: int, depth: int, last: bool = False) -> list[float]:
        source = generator(seed, "examples")
        x = torch.randn(self.sequences, self.tokens, self.width, generator=source)
        y = torch.randint(self.classes, (self.sequences * self.tokens,), generator=source)
        sources = [generator(seed, "layer", depth - k) for k in range(depth)]  # of one last layer, whatever the depth
        layers = [TransformerLayer(self.width, norm, self.placement, each) for each in sources]
        for layer in layers:
            x = layer(x)
        if self.placement == "pre":
            x = norm.sequence(self.width)(x)
        head = torch.randn(self.classes, self.width, generator=generator(seed, "head")) / math.sqrt(self.width)
        weights = [layer.second.weight for layer in (layers[-1:] if last else layers)]
        found = torch.autograd.grad(F.cross_entropy(x.reshape(-1, self.width) @ head.T, y), weights)
        return [float(gradient.norm()) for gradient in found]


class TransformerLayer(nn.Module):
    """Self-attention and a feed-forward network, with Glorot weights and no biases."""

    def __init__(self, width: int, norm: Norm, placement: str, source: torch.Generator) -> None:
        super().__init__()
        self.placement, self.norm = placement, norm
        self.q, self.k, self.v, self.o = (linear(width, width, source) for _ in range(4))
        self.first = linear(width, EXPANSION * width, source)
        self.second = linear(EXPANSION * width, width, source)

    def forward(self, x: Tensor) -> Tensor:
        for sub_layer in (self._attend, self._feed_forward):
            inside = self._normalize(x) if self.placement.startswith("pre") else x
            x = x + sub_layer(inside)
            x = self._normalize(x) if self.placement == "post" else x
        return x

    def _normalize(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm.sequence(x.shape[-1])(x)
        return out

    def _attend(self, x: Tensor) -> Tensor:
        q, k, v = (part(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        out: Tensor = self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return out

    def _feed_forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(F.relu(self.first(x)))
        return out


def linear(inputs: int, units: int, source: torch.Generator) -> nn.Linear:
    layer = nn.Linear(inputs, units, bias=False)
    nn.init.xavier_normal_(layer.weight, generator=source)
    return layer
