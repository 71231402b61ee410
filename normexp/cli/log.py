"""What the program says while it works: lines of the logger `normexp`, on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from normexp.records import printable

logger = logging.getLogger("normexp")

MOST = 10_000  # characters of one line


class StandardError(logging.Handler):
    """Prints `normexp: MESSAGE` on what standard error is now; where that cannot be, the work goes on.

    Its reader may have gone, or the disk with its file be full.
    """

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            print(f"normexp: {printable(record.getMessage(), most=MOST)}", file=sys.stderr, flush=True)


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Print what is logged from level INFO on, while a command runs."""
    handler, level = StandardError(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
