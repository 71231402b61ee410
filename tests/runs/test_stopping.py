"""Ctrl-C, SIGTERM and a closed terminal while something runs that can save itself."""

import signal
import threading

import pytest

from normexp.runs.signals import stop_signals

BOTH = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("number", BOTH)
def test_stop_signal_calls_and_nothing_else(number):
    calls: list[int] = []
    with stop_signals(lambda: calls.append(1)):
        signal.raise_signal(number)
    assert calls == [1]


@pytest.mark.parametrize(("before", "called"), [(signal.SIG_DFL, [1]), (signal.SIG_IGN, [])])
def test_a_closed_terminal_stops_what_was_not_started_by_nohup(before, called):
    calls: list[int] = []
    usual = signal.signal(signal.SIGHUP, before)
    try:
        with stop_signals(lambda: calls.append(1)):
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is before
    finally:
        signal.signal(signal.SIGHUP, usual)
    assert calls == called


def test_second_interrupt_acts_as_usual():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins without one
    try:
        _interrupt_twice()
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt_twice():
    with stop_signals(lambda: None):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_second_sigterm_ends_nothing():
    """A batch system sends one to the worker, and the sweep, which had one too, another."""
    calls: list[int] = []
    with stop_signals(lambda: calls.append(1)):
        for _ in range(3):
            signal.raise_signal(signal.SIGTERM)
    assert calls == [1, 1, 1]


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in BOTH]
    with stop_signals(lambda: None):
        signal.raise_signal(signal.SIGTERM)
        assert [signal.getsignal(number) for number in BOTH] != before
    assert [signal.getsignal(number) for number in BOTH] == before


def test_a_handler_that_python_has_not_set_stays(monkeypatch):
    """As that of R, say, inside of which Python runs: Python could not put it back."""
    usual = signal.getsignal
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGTERM else usual(number))
    before = usual(signal.SIGTERM)
    with stop_signals(lambda: None):
        assert usual(signal.SIGTERM) is before


def test_other_threads_leave_the_handlers_alone():
    seen: list[object] = []

    def work() -> None:
        with stop_signals(lambda: None):
            seen.extend(signal.getsignal(number) for number in BOTH)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(number) for number in BOTH]
