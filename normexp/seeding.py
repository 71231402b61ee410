"""One seed, several independent streams: initialization, data order, augmentation, noise, generated data.

With one seed every scheme starts from the same weights and sees the same batches, so that differences between
schemes are paired differences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from normexp.mersenne import NAMES, seed_twisters, set_twisters, twister_states, twisters_kept


def stream(seed: int, *names: str | int) -> int:
    """Return the 63-bit seed of a named stream; equal arguments give equal numbers on every machine."""
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> torch.Generator:
    """Return a fresh CPU generator for a named stream."""
    return torch.Generator().manual_seed(stream(seed, *names))


@contextmanager
def seeded(seed: int, *names: str | int) -> Iterator[None]:
    """Run a block with the global generators seeded by a stream, and put their states back afterwards."""
    with random_kept(range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []):
        seed_all(stream(seed, *names))
        yield


@contextmanager
def random_kept(devices: Iterable[int | torch.device] = ()) -> Iterator[None]:
    """Put back, at the end, the states of Python's, NumPy's and torch's global generators, of these GPUs too."""
    with torch.random.fork_rng(list(devices)), twisters_kept():
        yield


def seed_all(seed: int) -> None:
    """Seed the global generators: torch's as torch.manual_seed does, Python's and NumPy's by streams of their own.

    torch.manual_seed notes its caller for each kind of GPU, slowly, where none is in use.
    """
    seed_twisters(stream(seed, "python"), stream(seed, "numpy"))
    if torch.cuda.is_initialized() or torch.backends.mps.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def random_states() -> dict[str, Tensor]:
    """Return the states of the global generators: "cpu" (torch's), "python", "numpy" and, where in use, "cuda"."""
    states = {"cpu": torch.get_rng_state(), **twister_states()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def set_random_states(states: Mapping[str, Tensor]) -> None:
    """Set the global generators; a state of a GPU is left out where there is none.

    Those of Python and NumPy are missing in a checkpoint of an older version: they are seeded, so that they do not
    depend on what was drawn before.
    """
    seed_twisters(*(stream(0, name) for name in NAMES))
    set_twisters(states)
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
