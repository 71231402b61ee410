"""The contract of a placement. The base class is itself `placement=none`: nothing is normalized."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.models.transformer.attention import HeadNorms
from normexp.models.transformer.stream import Residual
from normexp.norms.base import Norm, free_weight, set_weight


class Site(NamedTuple):
    """Where in a network a layer stands.

    Args:
        width: C, features of the residual stream.
        layer: l, from 1.
        depth: L, number of layers; each has two branches, attention and feed-forward.
        dropout: of what a branch adds.
    """

    width: int
    layer: int
    depth: int
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Placement:
    """x + f(x): a transformer without normalization.

    A placement says what stands on the residual stream and inside the branches, and how the weights begin. The
    network asks it and does not know which one it has; the placement asks the scheme for its modules and does not
    know which one that is. f is a branch, N a module of the scheme with parameters of its own at every place.

    Initialization: as GPT-2, output layers of branches divided by sqrt(2 L).
    Source: none; GPT-2's initialization is that of Radford et al. 2019.
    """

    scales_outputs: ClassVar[bool] = True  # of branches, as GPT-2; False leaves all weights as drawn

    def embedding(self, norm: Norm, width: int) -> nn.Module:
        """Return what follows the embedding, on (N, T, width)."""
        return nn.Identity()

    def layer(self, attention: nn.Module, feed_forward: nn.Module, norm: Norm, site: Site) -> list[nn.Module]:
        """Return what joins the two branches of a layer to the stream."""
        return [self.residual(branch, norm, site) for branch in (attention, feed_forward)]

    def residual(self, branch: nn.Module, norm: Norm, site: Site) -> nn.Module:
        """Return what joins one branch to the stream: (N, T, width) -> (N, T, width)."""
        return Residual(branch, dropout=site.dropout)

    def final(self, norm: Norm, width: int) -> nn.Module:
        """Return what follows the last layer, on (N, T, width)."""
        return nn.Identity()

    def heads(self, norm: Norm, heads: int, width: int) -> HeadNorms:
        """Return what is done to queries, keys and values, (N, heads, T, width)."""
        return HeadNorms(nn.Identity(), nn.Identity(), nn.Identity())

    def inner(self, norm: Norm, num_features: int) -> nn.Module:
        """Return what stands in front of a branch's output layer, on (N, T, num_features)."""
        return nn.Identity()

    def entering(self, num_features: int, width: int) -> nn.Module:
        """Return what is done to what enters the feed-forward branch's nonlinearity, (N, T, num_features)."""
        return nn.Identity()

    def outputs(self, num_outputs: int, width: int) -> nn.Module:
        """Return what is done to the network's outputs, (*, num_outputs)."""
        return nn.Identity()

    def initialize(self, model: nn.Module) -> None:
        """Change the weights from how they were drawn to how they begin; draws nothing itself."""
        if self.scales_outputs:
            branches = [branch for layer in layers_of(model) for branch in layer]
            for branch in branches:
                scale(branch.output, 1 / math.sqrt(len(branches)))

    def after_update(self, model: nn.Module) -> None:
        """Called after every update of the weights."""


def layers_of(model: Any) -> list[tuple[Any, Any]]:
    """Return (attention, feed-forward) of every layer of a transformer."""
    return [tuple(residual.branch for residual in layer) for layer in model.layers]


def scale(layer: nn.Module, factor: float, rows: slice = slice(None)) -> None:
    """Multiply a layer's weight, or these rows of it, by a number; of one that is computed, what it is computed from.

    A scheme that does not notice lengths would otherwise begin with what it computes, many times as long as the others
    begin. Where the length is a parameter of its own (weight norm), that is set.
    """
    if parametrize.is_parametrized(layer, "weight") and hasattr(layer.parametrizations.weight, "original"):  # type: ignore[union-attr]
        with torch.no_grad():
            free_weight(layer)[1][rows] *= factor
        return
    weight: Any = layer.weight
    value = weight.detach().clone()
    value[rows] *= factor
    set_weight(layer, value)


def scale_values_and_outputs(model: nn.Module, factor_of: Callable[[int], float]) -> None:
    """Multiply value, output and feed-forward layers by `factor_of(number of layers)`; queries and keys stay."""
    found = layers_of(model)
    factor = factor_of(len(found))
    for attention, feed_forward in found:
        scale(attention.qkv, factor, slice(2 * attention.output.in_features, None))
        for layer in (attention.output, feed_forward.expand, feed_forward.output):
            scale(layer, factor)


@torch.no_grad()
def set_to_zero(parameters: Iterable[Tensor | None]) -> None:
    """Set parameters to 0; those that a layer does not have are left out."""
    for parameter in parameters:
        if parameter is not None:
            parameter.zero_()
