"""What is said of work that may take long and shows nothing until it ends."""

from __future__ import annotations

import logging
import time

FIRST, EVERY = 5.0, 10.0  # seconds until the first line, and between two
logger = logging.getLogger("normexp")


class Waiting:
    """Logs how far some work is: nothing of what is over in seconds, then a line now and then."""

    def __init__(self) -> None:
        self._due = time.monotonic() + FIRST

    def at(self, text: str) -> None:
        """Say where the work is, if it is time to."""
        if (now := time.monotonic()) >= self._due:
            self._due = now + EVERY
            logger.info(text)
