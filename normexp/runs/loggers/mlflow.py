"""Runs in the database results/mlflow.db: `mlflow ui --backend-store-uri sqlite:///results/mlflow.db`."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from normexp.runs.loggers import PROJECT, Point, Subject

ENDS = {"done": "FINISHED", "diverged": "FAILED", "failed": "FAILED", "interrupted": "KILLED"}
RUN = "normexp.run"  # the tag with the name of a run directory
LONGEST = 500  # characters of a value
SILENT = "MLFLOW_DISABLE_TELEMETRY"  # looked at once, when MLflow is imported


class Log:
    """One run of MLflow; that of an attempt before is deleted (`mlflow gc` removes it for good)."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def begin(self, points: Sequence[Point]) -> None:
        self.client = _client(self.subject.results)
        experiment = self.client.get_experiment_by_name(PROJECT).experiment_id
        for old in self.client.search_runs([experiment], f"tags.`{RUN}` = '{self.subject.name}'"):
            self.client.delete_run(old.info.run_id)
        tags = {RUN: self.subject.name, "status": "running"}
        self.run = self.client.create_run(experiment, run_name=self.subject.name, tags=tags).info.run_id
        for key, value in self.subject.settings.items():
            self.client.log_param(self.run, key, value[:LONGEST])
        for point in points:
            self.add(point)

    def add(self, point: Point) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, point.step) for name, value in point.values.items()]
        self.client.log_batch(self.run, metrics, synchronous=True)

    def end(self, status: str, step: int, cause: str) -> None:
        self.client.set_tag(self.run, "status", status)
        self.client.set_tag(self.run, "cause", cause[:LONGEST])
        self.client.set_terminated(self.run, ENDS[status])


def _client(results: Path) -> Any:
    """Open the database, and make it where there is none.

    Whoever is first with a whole one makes it: MLflow by itself fails where several workers make one at a time.
    """
    with _without_telemetry():
        from mlflow.tracking import MlflowClient
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
    path = results / "mlflow.db"
    if not path.exists():
        with TemporaryDirectory(prefix=".mlflow-", dir=results) as folder:
            new = Path(folder) / "new.db"
            MlflowClient(tracking_uri=f"sqlite:///{new}").create_experiment(PROJECT)
            with suppress(FileExistsError):
                os.link(shutil.copyfile(new, Path(folder) / "copy.db"), path)  # nobody has this one open
    return MlflowClient(tracking_uri=f"sqlite:///{path}")


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Keep MLflow, where it is imported now, from sending anything to anybody."""
    before = os.environ.get(SILENT)
    os.environ[SILENT] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SILENT]
        else:
            os.environ[SILENT] = before
