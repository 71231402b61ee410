"""Ctrl-C, SIGTERM and a terminal that is closed as a request to save and end, not as an accident."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from normexp.errors import Interrupted, came_of_interrupt


def is_stop(error: BaseException) -> bool:
    """Tell whether the user asked to stop, once or, with a second Ctrl-C, at once: no fault of the run."""
    return isinstance(error, Interrupted) or came_of_interrupt(error)


@contextmanager
def stop_signals(callback: Callable[[], None], also: Sequence[int] = ()) -> Iterator[None]:
    """Call `callback` at SIGINT, SIGTERM, SIGHUP and the signals `also`; only the main thread can, elsewhere no change.

    A second SIGINT acts as usual, so that a user need not wait. A second SIGTERM does not: a batch system sends one to
    every process of a job, and a sweep hands its own on to workers that have had theirs. An ignored SIGHUP stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if number == signal.SIGINT:
            signal.signal(number, previous[signal.SIGINT])
        callback()

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, *also)}
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # which nohup does
        handlers[signal.SIGHUP] = signal.getsignal(signal.SIGHUP)
    # None is that of a program in C which Python runs inside of: it could not be put back.
    previous = {number: handler for number, handler in handlers.items() if handler is not None}
    for number in previous:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def stops_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does."""

    def stop() -> None:
        raise KeyboardInterrupt  # no Exception: a reader of a damaged file would take it for the damage

    with stop_signals(stop):
        yield
