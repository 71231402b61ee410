"""The number of torch's threads, which is the process's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads_kept() -> Iterator[None]:
    """Put back, at the end, the number of torch's threads."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
