"""What a person sees of a sweep: one bar, and a line for each cell that ends."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

logger = logging.getLogger("normexp")


class SweepProgress:
    """One bar for the whole sweep, in cells; a line for each cell that ends. Safe to call from several threads."""

    def __init__(self, bar: tqdm[Any], total: int) -> None:
        self.bar, self.total = bar, total
        self._lock = threading.Lock()
        self._parts: dict[str, float] = {}  # fraction done of the cells that run now
        self._ended = 0

    def step(self, cell: str, step: int, steps: int) -> None:
        """Show that a cell, of that name, has done some of its steps."""
        with self._lock:
            self._parts[cell] = step / steps
            self._refresh()

    def ended(self, cell: str, status: str) -> None:
        """Show that a cell has ended, and how."""
        with self._lock:
            self._parts.pop(cell, None)
            self._ended += 1
            self._refresh()
            self.bar.clear()
            logger.info(f"[{self._ended}/{self.total}] {status} {cell}")

    def _refresh(self) -> None:
        running = ", ".join(f"{cell} {part:.0%}" for cell, part in sorted(self._parts.items()))
        self.bar.set_postfix_str(running, refresh=False)
        self.bar.n = self._ended + sum(self._parts.values())
        self.bar.update(0)


@contextmanager
def sweep_progress(cells: int) -> Iterator[SweepProgress]:
    """Show the progress of so many cells while the block runs."""
    layout = "{n:.1f}/{total} runs |{bar}| {remaining} left {postfix}"
    live = sys.stderr.isatty()
    with tqdm(total=cells, disable=not live, leave=False, dynamic_ncols=True, bar_format=layout) as bar:
        yield SweepProgress(bar, cells)
