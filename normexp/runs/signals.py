"""Ctrl-C and SIGTERM as a request to save and end, not as an accident."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def stop_signals(callback: Callable[[], None], also: Sequence[int] = ()) -> Iterator[None]:
    """Call `callback` at SIGINT, SIGTERM and the signals `also`; only the main thread can, elsewhere nothing changes.

    A second SIGINT acts as usual, so that a user need not wait. A second SIGTERM does not: a batch system sends one to
    every process of a job, and a sweep hands its own on to workers that have had theirs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if number == signal.SIGINT:
            signal.signal(number, previous[signal.SIGINT])
        callback()

    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, *also)}
    for number in previous:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
