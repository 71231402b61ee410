"""Rivals that are timed in turns, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import torch

from normexp.torch_modes import threads_kept

T = TypeVar("T")
Key = TypeVar("Key")


@contextmanager
def one_thread() -> Iterator[None]:
    with threads_kept():
        torch.set_num_threads(1)
        yield


def in_turns(rivals: Mapping[Key, T], rounds: int, time: Callable[[T], float]) -> dict[Key, list[float]]:
    """Return the times of each rival, one per round; rounds go round all of them, and a first one warms up."""
    times: dict[Key, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds + 1):
        for name, rival in rivals.items():
            times[name].append(time(rival))
    return {name: own[1:] for name, own in times.items()}
