"""A fence in front of a run's files: what must still be true before each write of a record.

A worker of a sweep that stood still for so long that another one has taken its cell over must not write any more when
it goes on. Whoever trains under a claim puts the check of it here; every file of a run directory is written behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar("normexp_fence", default=None)


@contextmanager
def fenced(check: Callable[[], None]) -> Iterator[None]:
    """Call `check`, which raises where writing is no longer ours, before each write of this thread in the block."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_fence() -> None:
    """Raise what the check of this thread raises; do nothing where there is none."""
    if (check := _check.get()) is not None:
        check()
