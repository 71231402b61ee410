"""The network of the laws on weight decay: every weight is followed by the norm, the last one too."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from torch import nn

from normexp.norms.base import Norm
from normexp.seeding import generator

FEATURES, CLASSES = 20, 10


def normalized_mlp(norm: Norm, seed: int, widths: Sequence[int], last: str) -> nn.Sequential:
    """Build an MLP without biases, in training mode, with He's weights from a stream per layer.

    Args:
        widths: hidden units.
        last: `normalized`, or `plain`, the output layer without norm.

    Shape: (N, FEATURES) -> (N, CLASSES).
    """
    sizes, blocks = [FEATURES, *widths, CLASSES], nn.Sequential()
    for k, (inputs, units) in enumerate(itertools.pairwise(sizes)):
        layer, top = nn.Linear(inputs, units, bias=False), k == len(sizes) - 2
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator(seed, "layer", k))
        plain = top and last == "plain"
        blocks.append(layer if plain else norm.block(layer, None if top else nn.ReLU()))
    return blocks.train()
