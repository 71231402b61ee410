"""The contract of an initialization: every Linear and Conv layer's weight is drawn from a stream of its own."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from normexp.errors import kind_of
from normexp.norms.base import set_weight, weight_layers
from normexp.seeding import generator


class Init:
    """Draws the initial weight and bias of every layer; the bias is 0 unless an option says otherwise.

    `apply` runs when the network is built. `fit` runs once before training, before the scheme's own
    data-dependent `initialize`, which therefore has the last word.
    """

    keeps_own: ClassVar[bool] = False  # leave a ready-made network (torchvision) the initialization it has

    def apply(self, model: nn.Module, seed: int) -> None:
        """Initialize every Linear and Conv layer.

        A layer's stream belongs to its place in the network (first, second, ...), so a scheme's additional
        parameters shift nothing: with one seed, every scheme starts from the same weights. A scheme that
        computes its weight from another tensor gets that tensor initialized.
        """
        for place, layer in enumerate(weight_layers(model)):
            source = generator(seed, "initialization", place)
            like = layer.weight
            assert isinstance(like, Tensor)
            set_weight(layer, self._drawn(like, source).to(like))
            if isinstance(layer.bias, Tensor):
                with torch.no_grad():
                    layer.bias.copy_(self.bias(like[0].numel(), torch.empty(layer.bias.shape), source))

    def _drawn(self, like: Tensor, source: torch.Generator) -> Tensor:
        """Return a weight. Raises ValueError where an option of the user's own returns something else."""
        drawn: object = self.weight(torch.empty(like.shape), source)
        if isinstance(drawn, Tensor) and drawn.shape == like.shape:
            return drawn
        what = f"tensor of shape {tuple(drawn.shape)}" if isinstance(drawn, Tensor) else kind_of(drawn)
        raise ValueError(f"{type(self).__name__}.weight returned a {what}, not a tensor of shape {tuple(like.shape)}")

    def weight(self, empty: Tensor, source: torch.Generator) -> Tensor:
        """Fill `empty`, a weight on the CPU, and return it."""
        raise NotImplementedError("the class has no `weight(self, empty, source)` of its own")

    def bias(self, fan_in: int, empty: Tensor, source: torch.Generator) -> Tensor:
        """Fill `empty`, a bias on the CPU, and return it."""
        return empty.zero_()

    def fit(self, model: nn.Module, batch: Tensor) -> None:
        """Adapt the weights to a batch of training inputs."""
