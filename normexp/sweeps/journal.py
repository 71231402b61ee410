"""Optuna's journal as a file of ours: an entry appears whole or not at all, and no link or pipe is followed.

Optuna's own backend leaves a lock behind where it is killed, at which a relative path waits for ever, and half a line
where the disk is full, by which the next entry is lost.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from optuna.storages.journal import BaseJournalBackend

from normexp.records.files import MOST_ROWS, read_regular, write_atomically
from normexp.records.parsing import json_object


class Journal(BaseJournalBackend):
    """A line of JSON for each entry, as Optuna's tools read it. Whoever appends holds the lock of its folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        return [json_object(line) for line in self._lines()[log_number_from:]]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        added = [json.dumps(log, separators=(",", ":")).encode() + b"\n" for log in logs]
        write_atomically(self.path, b"".join([*self._lines(), *added]))

    def _lines(self) -> list[bytes]:
        """Return the whole lines: an earlier version may have been stopped within its last one."""
        try:
            data = read_regular(self.path, MOST_ROWS)
        except FileNotFoundError:
            return []
        return [line for line in data.splitlines(keepends=True) if line.endswith(b"\n")]
