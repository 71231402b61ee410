"""Rivals that are timed in turns, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
Key = TypeVar("Key")


@contextmanager
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def in_turns(rivals: Mapping[Key, T], rounds: int, seconds: Callable[[T], float]) -> dict[Key, list[float]]:
    """Return the seconds of each rival, one per round; rounds go round all of them, and a first one warms up."""
    times: dict[Key, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds + 1):
        for name, rival in rivals.items():
            times[name].append(seconds(rival))
    return {name: own[1:] for name, own in times.items()}
