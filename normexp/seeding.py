"""One seed, several independent streams: initialization, data order, augmentation, noise, generated data.

With one seed every scheme starts from the same weights and sees the same batches, so that differences between
schemes are paired differences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor


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
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []):
        seed_all(stream(seed, *names))
        yield


def seed_all(seed: int) -> None:
    """Do what torch.manual_seed does; it notes its caller for each kind of GPU, slowly, where none is in use."""
    if torch.cuda.is_initialized() or torch.backends.mps.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def random_states() -> dict[str, Tensor]:
    """Return the states of torch's global generators: "cpu" and, where it is in use, "cuda"."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def set_random_states(states: Mapping[str, Tensor]) -> None:
    """Set torch's global generators; a state of a GPU is left out where there is none."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
