"""Runs in a database in results/trackio: `TRACKIO_DIR=results/trackio trackio show --project normexp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from normexp.runs.loggers import PROJECT, Point, Subject

LEVELS = {"diverged": "warn", "failed": "error", "interrupted": "info"}


class Log:
    """One run of trackio, written to its store.

    Not through `trackio.init`: that prints, writes from a thread, asks a server for the user's name, and goes to
    whatever server an environment variable says.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject, self.name = subject, subject.name

    def begin(self, points: Sequence[Point]) -> None:
        store = self._store()
        store.delete_run(PROJECT, self.name)
        values, steps = [point.values for point in points], [point.step for point in points]
        store.bulk_log(PROJECT, self.name, values, steps=steps, config=dict(self.subject.settings))

    def add(self, point: Point) -> None:
        self._store().bulk_log(PROJECT, self.name, [point.values], steps=[point.step])

    def end(self, status: str, step: int, cause: str) -> None:
        if status in LEVELS:
            self._store().bulk_alert(PROJECT, self.name, [status], [cause], [LEVELS[status]], [step])

    def _store(self) -> Any:
        """Return trackio's store, in our folder: it knows one folder, from when it was imported."""
        from trackio import sqlite_storage

        folder = self.subject.results / "trackio"
        folder.mkdir(parents=True, exist_ok=True)
        sqlite_storage.TRACKIO_DIR = folder
        return sqlite_storage.SQLiteStorage
