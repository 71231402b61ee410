"""One seed, several independent streams: initialization, data order, augmentation, noise, generated data.

With one seed every scheme starts from the same weights and sees the same batches, so that differences between
schemes are paired differences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch


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
    with torch.random.fork_rng(devices=None if _has_accelerator() else []):
        seed_all(stream(seed, *names))
        yield


def seed_all(seed: int) -> None:
    """Do what torch.manual_seed does; without a GPU that notes the caller's traceback for each kind of them, slowly."""
    if _has_accelerator():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


@cache
def _has_accelerator() -> bool:
    return torch.accelerator.is_available()
