"""One seed, several independent streams: initialization, data order, augmentation, noise, generated data.

With one seed every scheme starts from the same weights and sees the same batches, so that differences between
schemes are paired differences.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from normexp.norms.base import set_weight, weight_layers


def stream(seed: int, *names: str | int) -> int:
    """Return the 63-bit seed of a named stream; equal arguments give equal numbers on every machine."""
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> torch.Generator:
    """Return a fresh CPU generator for a named stream."""
    return torch.Generator().manual_seed(stream(seed, *names))


@contextmanager
def seeded(seed: int, *names: str | int) -> Iterator[None]:
    """Run a block with torch's global generators seeded by a stream, and put their states back afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(stream(seed, *names))
        yield


def initialize(model: nn.Module, seed: int) -> None:
    """Give every Linear and Conv layer PyTorch's default initialization, drawn from the layer's own stream.

    The stream belongs to the layer's place in the network (first, second, ...), so a scheme's additional
    parameters shift nothing. Weight: U(-1/sqrt(fan_in), 1/sqrt(fan_in)), and so the bias.
    """
    for place, layer in enumerate(weight_layers(model)):
        source = generator(seed, "initialization", place)
        bound = 1 / math.sqrt(layer.weight[0].numel())  # type: ignore[index]
        set_weight(layer, uniform(layer.weight, bound, source))  # type: ignore[arg-type]
        if layer.bias is not None:
            with torch.no_grad():
                layer.bias.copy_(uniform(layer.bias, bound, source))  # type: ignore[arg-type, operator]


def uniform(like: Tensor, bound: float, source: torch.Generator) -> Tensor:
    """Return a tensor shaped and placed like `like`, uniform in (-bound, bound)."""
    return torch.empty(like.shape).uniform_(-bound, bound, generator=source).to(like)
