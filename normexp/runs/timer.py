"""How long a run has trained."""

from __future__ import annotations

import time


class Timer:
    """Counts the seconds between `start` and `stop`, over all attempts of a run.

    Args:
        seconds: spent by earlier attempts.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._before = seconds
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """The seconds so far, the current stretch included."""
        return self._before + (0.0 if self._since is None else time.monotonic() - self._since)

    @property
    def running(self) -> bool:
        return self._since is not None

    def reset(self) -> None:
        """Forget the seconds: what earlier attempts have trained is lost."""
        self._before, self._since = 0.0, None

    def start(self) -> None:
        """Begin to count; nothing happens where it counts already."""
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        """Leave out what comes now: an evaluation, a checkpoint."""
        self._before, self._since = self.seconds, None
