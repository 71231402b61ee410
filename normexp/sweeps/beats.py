"""What a worker shows of itself in the shared folder: that it lives, since when, and how far its cell is."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from normexp.errors import UserError
from normexp.sweeps.claim_folder import ClaimFolder
from normexp.sweeps.protocol import beat_name


class Beats:
    """The file of one worker, rewritten every few seconds by a thread of its own.

    All times are durations by this machine's clock: nobody compares the clocks of two machines.

    Args:
        name: of the worker; no two processes have the same.
        every: seconds.
        via: who started it (`slurm 12_3`), for people.
    """

    def __init__(self, folder: ClaimFolder, every: float, via: str = "") -> None:
        self.folder, self.every, self.via = folder, every, via
        self.name = f"{socket.gethostname().partition('.')[0]}-{os.getpid()}-{secrets.token_hex(3)}"
        self._began, self._cell_began = time.monotonic(), 0.0
        self._beat, self._ended, self._busy = 0, 0, 0.0
        self._cell, self._step, self._steps = "", 0, 0
        self._lock = threading.Lock()

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Show that this worker lives while the block runs; remove its file at the end."""
        stop = threading.Event()
        self.show()
        thread = threading.Thread(target=self._loop, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            with suppress(OSError):
                self.folder.remove(beat_name(self.name))

    def begins(self, cell: str) -> None:
        """Show that a cell begins."""
        with self._lock:
            self._cell, self._step, self._steps, self._cell_began = cell, 0, 0, time.monotonic()

    def stepped(self, step: int, steps: int) -> None:
        """Show how far the cell is."""
        with self._lock:
            self._step, self._steps = step, steps

    def ended(self, counts: bool) -> None:
        """Show that the cell is left; `counts` where it has ended and its time tells how long cells take."""
        with self._lock:
            if counts:
                self._ended, self._busy = self._ended + 1, self._busy + time.monotonic() - self._cell_began
            self._cell = ""

    def show(self) -> None:
        """Write the file, with a number that was not there before."""
        with self._lock:
            self._beat += 1
            now = time.monotonic()
            content = {
                "beat": self._beat,
                "host": socket.gethostname(),
                "process": os.getpid(),
                "via": self.via,
                "seconds": round(now - self._began, 1),
                "ended": self._ended,
                "busy": round(self._busy, 3),
                "cell": self._cell,
                "cell_seconds": round(now - self._cell_began, 1) if self._cell else 0.0,
                "step": self._step,
                "steps": self._steps,
            }
        self.folder.replace(beat_name(self.name), json.dumps(content))

    def _loop(self, stop: threading.Event) -> None:
        while not stop.wait(self.every):
            with suppress(OSError, UserError):  # a file server that is away for a while
                self.show()
