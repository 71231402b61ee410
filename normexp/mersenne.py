"""Python's and NumPy's global generators, which parts of the user's own may draw from, and their states as tensors.

Both are Mersenne twisters: 624 words, a place in them, and what is left of the last pair of normal numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

NAMES = ("python", "numpy")
WORDS = 624
LENGTH = WORDS + 3  # with the place, whether a normal number is left, and the bits of that


@contextmanager
def twisters_kept() -> Iterator[None]:
    """Put back the states of both generators at the end."""
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def seed_twisters(python: int, numpy: int) -> None:
    """Seed both generators, each by a number of at most 64 bits."""
    random.seed(python)
    np.random.seed([numpy & 0xFFFFFFFF, numpy >> 32])


def twister_states() -> dict[str, Tensor]:
    """Return the state (627,) of each generator, by name; NumPy's is left out where the user has put another kind."""
    _, words, left = random.getstate()
    states = {"python": _as_tensor(list(words), left)}
    numpy: dict[str, Any] = np.random.get_state(legacy=False)
    if numpy["bit_generator"] == "MT19937":
        words = [*numpy["state"]["key"].tolist(), numpy["state"]["pos"]]
        states["numpy"] = _as_tensor(words, numpy["gauss"] if numpy["has_gauss"] else None)
    return states


def set_twisters(states: Mapping[str, Tensor]) -> None:
    """Set the generators whose states are given, which are such as `check_twister` takes."""
    if "python" in states:
        words, left = _as_numbers(states["python"])
        random.setstate((3, tuple(words), left))
    if "numpy" in states:
        words, left = _as_numbers(states["numpy"])
        np.random.set_state(("MT19937", np.array(words[:WORDS], "uint32"), words[WORDS], left is not None, left or 0.0))


def check_twister(name: str, state: Tensor) -> None:
    """Raise ValueError for what is no state of such a generator."""
    if (state.dtype, state.shape) != (torch.int64, (LENGTH,)):
        raise ValueError(f"random/{name} is {str(state.dtype).removeprefix('torch.')} {list(state.shape)}")
    words, place = state[:WORDS], state[WORDS]
    if not (((words >= 0) & (words < 2**32)).all() and 0 <= place <= WORDS):
        raise ValueError(f"random/{name} has words or a place that no generator has")


def _as_tensor(words: list[int], left: float | None) -> Tensor:
    """Return (627,) for 624 words and a place, and the normal number that is left."""
    bits = int(torch.tensor(left or 0.0, dtype=torch.float64).view(torch.int64))
    return torch.tensor([*words, left is not None, bits], dtype=torch.int64)


def _as_numbers(state: Tensor) -> tuple[list[int], float | None]:
    """Return what `_as_tensor` was given."""
    *words, has_left, _ = state.tolist()
    return words, float(state[-1:].view(torch.float64)) if has_left else None
