"""`logger=[tensorboard,mlflow,trackio]`: the curves of a run for other programs, written while it trains.

A log is a copy of metrics.csv, but for the test split: it has that at the end only, because nobody should choose by
it. An attempt at a run writes its log anew from the rows that are there, so that a run which is continued, or begun
again, has every point once. Nothing of a record depends on a log, and a log that fails is given up with one line: the
training goes on.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from normexp.config import Config
from normexp.config.identity import UNRECORDED
from normexp.config.text import shown
from normexp.errors import kind_and_line
from normexp.records import FINISHED, METRICS, RunDirectory, read_rows

PROJECT = "normexp"  # what MLflow calls an experiment and trackio a project
logger = logging.getLogger("normexp")


@dataclass(frozen=True)
class Point:
    """One evaluation: {column of metrics.csv: value}, without the columns that are empty there."""

    step: int
    values: dict[str, float]

    @classmethod
    def of(cls, row: Mapping[str, object]) -> Point:
        values = {name: float(str(value)) for name, value in row.items() if name != "step" and value not in (None, "")}
        return cls(int(str(row["step"])), values)

    def part(self, test: bool) -> Point:
        """Return what is of the test split, or what is not."""
        values = {name: value for name, value in self.values.items() if name.startswith("test/") == test}
        return Point(self.step, values)


@dataclass(frozen=True)
class Subject:
    """The run that a log is of.

    Args:
        results: the results folder, in which the logs of all runs lie.
        settings: what differs from the defaults, as it is typed.
    """

    results: Path
    name: str
    settings: dict[str, str]


class Log(Protocol):
    """The log of one run in one program's form; any method may raise anything."""

    def __init__(self, subject: Subject) -> None: ...

    def begin(self, points: Sequence[Point]) -> None:
        """Forget what is there of this run, and write these points."""

    def add(self, point: Point) -> None: ...

    def end(self, status: str, step: int, cause: str) -> None:
        """Say how the attempt ended: done, diverged, failed or interrupted."""


class Logs:
    """The logs of one attempt at a run. They begin with its first new row, so that a refused run leaves none."""

    def __init__(self, config: Config, directory: RunDirectory) -> None:
        path = directory.path.absolute()
        settings = {key: shown(value) for key, value in config.changes.items() if key not in UNRECORDED}
        self._subject = Subject(path.parent.parent, path.name, settings)
        names: list[str] = config["logger"]
        self._metrics, self._last = directory.path / METRICS, Point(0, {})
        self._begun = False
        self._logs: dict[str, Log] = {name: import_module(f"{__name__}.{name}").Log(self._subject) for name in names}

    def add(self, row: Mapping[str, object]) -> None:
        """Log a row that has been appended to metrics.csv."""
        if not self._begun:
            return self._begin()
        self._last = Point.of(row)
        shown = self._last.part(test=False)
        self._each(lambda log: log.add(shown))

    def end(self, status: str, step: int, cause: str) -> None:
        """Log how the attempt ended, unless before its first row; of a finished run, its test split."""
        if not self._begun:
            self._begin()
        test = self._last.part(test=True)
        if status in FINISHED and test.values:
            self._each(lambda log: log.add(test))
        self._each(lambda log: log.end(status, step, cause))
        self._logs.clear()

    def _begin(self) -> None:
        rows = read_rows(self._metrics) if self._logs else []
        self._begun = bool(rows)
        if not rows:
            self._logs.clear()
        points = [Point.of(row) for row in rows]
        self._last = points[-1] if points else self._last
        shown = [point.part(test=False) for point in points]
        self._each(lambda log: log.begin(shown))

    def _each(self, act: Callable[[Log], None]) -> None:
        for name, log in list(self._logs.items()):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # libraries of theirs, about libraries of theirs
                    act(log)
            except Exception as error:
                del self._logs[name]
                what = kind_and_line(error).replace(self._subject.name, "RUN")  # of all cells of a sweep the same
                logger.warning(f"logger={name}: {what}; the run goes on without this log")
