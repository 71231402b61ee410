"""Event files in results/tensorboard/RUN: `tensorboard --logdir results/tensorboard`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from typing import Any

from normexp.runs.loggers import Point, Subject


class Log:
    """One event file. It is written row by row: the library's own writer does so in a thread that can die silently."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.folder = subject, subject.results / "tensorboard" / subject.name

    def begin(self, points: Sequence[Point]) -> None:
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.plugins.text.summary_v2 import text_pb

        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob("events.out.tfevents.*"):
            old.unlink()
        self.path = self.folder / f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self._write(0, file_version="brain.Event:2")
        self._write(0, session_log=SessionLog(status=SessionLog.START))  # a viewer that is open forgets the old file
        settings = [f"{key}={value}" for key, value in self.subject.settings.items()]
        self._write(0, summary=text_pb("settings", "  \n".join(settings) or "the defaults"))
        for point in points:
            self.add(point)

    def add(self, point: Point) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in point.values.items()]
        self._write(point.step, summary=Summary(value=values))

    def end(self, status: str, step: int, cause: str) -> None:
        from tensorboard.plugins.text.summary_v2 import text_pb

        self._write(step, summary=text_pb("status", f"{status} at step {step}{': ' if cause else ''}{cause}"))

    def _write(self, step: int, **content: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        with self.path.open("ab") as file:
            RecordWriter(file).write(Event(wall_time=time.time(), step=step, **content).SerializeToString())
